// Package words says parts of the model in the few words that fit into a table
// cell, a diagram's box or one line of an explanation. It never decides
// anything: what a rule does is lbmodel's business. Start with [Match].
package words
