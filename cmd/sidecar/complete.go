package main

import (
	"context"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/coxswain-sidecar/coxswain/client"
	"github.com/coxswain-sidecar/coxswain/client/api"
)

func newCompletion(p process) *cobra.Command {
	shells := map[string]func(*cobra.Command) error{
		"bash":       func(root *cobra.Command) error { return root.GenBashCompletionV2(p.out, true) },
		"zsh":        func(root *cobra.Command) error { return root.GenZshCompletion(p.out) },
		"fish":       func(root *cobra.Command) error { return root.GenFishCompletion(p.out, true) },
		"powershell": func(root *cobra.Command) error { return root.GenPowerShellCompletionWithDesc(p.out) },
	}
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print a script that completes command lines of sidecar in a shell",
		Long: `Print a script that completes command lines of sidecar in a shell: commands, flags and their values, methods, and, if a
sidecar answers on the socket within half a second, names of rules, locks, breakers, semaphores, queues, pools and streams. Names
with characters that a shell interprets are left out.

Install it once for each user, in a folder that exists; it takes effect in new shells. bash needs the package
bash-completion, and zsh the lines fpath+=~/.zfunc and autoload -Uz compinit && compinit in ~/.zshrc.

  sidecar completion bash > ~/.local/share/bash-completion/completions/sidecar
  sidecar completion zsh > ~/.zfunc/_sidecar
  sidecar completion fish > ~/.config/fish/completions/sidecar.fish`,
		Example:   "  source <(sidecar completion bash) # for this shell alone",
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		RunE:      func(cmd *cobra.Command, args []string) error { return shells[args[0]](cmd.Root()) },
	}
}

// completeMethods completes the first argument of a command by methods of the protocol.
func completeMethods(_ *cobra.Command, args []string, begun string) (offered []string, _ cobra.ShellCompDirective) {
	for _, m := range api.Methods() {
		if len(args) == 0 && strings.HasPrefix(m.Name, begun) {
			offered = append(offered, cobra.CompletionWithDesc(m.Name, m.Summary))
		}
	}
	return offered, cobra.ShellCompDirectiveNoFileComp
}

// completionTime is how long a running sidecar may take to list names. It is short, since a user waits at a prompt.
const completionTime = 500 * time.Millisecond

// names asks a running sidecar for the names that a word of a command line may be.
type names func(context.Context, *client.Client) ([]string, error)

// complete completes by names. If the sidecar does not list them in time it offers none, and prints no error into the command line.
func (n names) complete(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	socket, err := cmd.Flags().GetString("socket")
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	c, err := dial(ctx, socket, "sidecar completion", false)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer c.Close()
	all, err := n(ctx, c)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var offered []string
	for _, name := range all {
		if strings.HasPrefix(name, begun) && harmless(name) {
			offered = append(offered, name)
		}
	}
	return offered, cobra.ShellCompDirectiveNoFileComp
}

// first completes the first argument of a command by names.
func (n names) first(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return n.complete(cmd, args, begun)
}

// of completes the value of a flag by names.
func (n names) of(cmd *cobra.Command, flag string) { completeBy(cmd, flag, n.complete) }

func completeBy(cmd *cobra.Command, flag string, by cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, by); err != nil {
		panic(err) // the command has no such flag, or the flag is completed already
	}
}

// harmless reports whether a shell takes a name literally. Users choose names, a completed name becomes a part of the command
// line, and completion scripts evaluate it.
func harmless(name string) bool {
	for i, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_./:@%+,", r) && (r != '-' || i == 0) {
			return false
		}
	}
	return name != ""
}

func ruleNames(ctx context.Context, c *client.Client) ([]string, error) {
	r, err := client.Call(ctx, c, api.RatelimitRules, api.Nothing{})
	all := make([]string, len(r.Rules))
	for i, rule := range r.Rules {
		all[i] = rule.Rule.Name
	}
	return all, err
}

// completeOthers sets the completion of all flags and arguments below a command that have none. Without one a shell offers
// files for each.
func completeOthers(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if _, set := cmd.GetFlagCompletionFunc(f.Name); set {
			return
		}
		complete := cobra.NoFileCompletions
		switch what, _ := pflag.UnquoteUsage(f); what {
		case "path", "file":
			complete = completeFiles
		case "folder":
			complete = completeFolders
		}
		if c, ok := f.Value.(*choice); ok {
			complete = cobra.FixedCompletions(c.of, cobra.ShellCompDirectiveNoFileComp)
		}
		completeBy(cmd, f.Name, complete)
	})
	takesFiles := strings.Contains(cmd.Use, "FILE") || strings.Contains(cmd.Use, "CMD")
	if cmd.ValidArgsFunction == nil && len(cmd.ValidArgs) == 0 && !takesFiles {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	for _, sub := range cmd.Commands() {
		completeOthers(sub)
	}
}

func completeFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

func completeFolders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}
