// Package term is how text reaches a person: colours only where they can be
// seen and are welcome, tables whose columns line up, and one moving line of
// progress. It never decides what is said. Start with [Screen].
package term
