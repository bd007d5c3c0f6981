package controller

// Paused counts the Gateways and Services that are paused by annotation.
func (c *Controller) Paused() int {
	select {
	case <-c.started:
	default:
		return 0
	}
	n := 0
	for _, g := range c.loop.Gateways() {
		if g.Paused {
			n++
		}
	}
	return n
}
