package cli

import "github.com/spf13/cobra"

// plainly has every command say in these words what is wrong with its arguments:
// whoever forgets -f is told so, and whoever forgets the argument sees which.
func plainly(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		plainly(c)
	}
	check := cmd.Args
	if check == nil || cmd.HasSubCommands() || len(cmd.ValidArgs) > 0 {
		return
	}
	cmd.Args = func(c *cobra.Command, args []string) error {
		switch err := check(c, args); {
		case err == nil:
			return nil
		case len(args) > 0 && c.Flags().Lookup("filename") != nil && check(c, nil) == nil:
			return usagef("%q: this command takes no arguments; files are named with -f", args[0])
		default:
			return usagef("want %s", c.UseLine())
		}
	}
}
