// Package draw makes a picture of a gateway: which listener's requests are
// answered by which rule, from which pool, by which endpoints. One [Diagram] is
// laid out once and written as Graphviz DOT, as Mermaid, or as an SVG that needs
// no other program.
//
// It is pure and knows lbmodel only. Start with [Of].
package draw
