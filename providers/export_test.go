package providers

import "fmt"

// Remembered is how much an account keeps, by what it is for.
func (a *Account) Remembered() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	s, w := &a.shadow, &a.wishes
	return fmt.Sprintf("wishes %d %d %d, entries %d, owned %d, users %d, foreign %d, shared %d, converging %d, reached %d, writes %d, doubt %d, looked %d, dropped %d, orphans %d, late %d, claims %d",
		len(w.owners), len(w.owned), len(w.joint), len(s.entries), len(s.owned), len(s.users), len(s.foreign), len(s.shared), len(s.converging),
		len(s.reached), len(s.writes), len(s.doubt), len(s.looked), len(s.dropped), len(a.orphans), len(a.late), len(a.claims))
}
