package main

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// maxBody is the largest body of a message.
const maxBody = 256 << 10

func newPublish(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "publish --channel C|--stream S",
		Short: "Send one message to a channel or a stream",
		Long: `Send one message to the present subscribers of a channel, or add it to the end of a stream, which keeps it.

The body is --body, or standard input if there is neither --body nor --field; at most 256 KiB of any bytes.
The result is printed as JSON.`,
		Example: `  sidecar publish --channel news --body 'a new version'
  echo '{"url":"https://example.com/"}' | sidecar publish --channel news`,
		Args: cobra.NoArgs,
	}
	socket := addSocketFlag(cmd, p)
	channel := cmd.Flags().String("channel", "", "`name` of the channel")
	stream := cmd.Flags().String("stream", "", "`name` of the stream")
	names(streamList.names).of(cmd, "stream")
	body := cmd.Flags().String("body", "", "`text` of the message")
	fields := cmd.Flags().StringArray("field", nil, "`name=text` beside or in place of the body, of a stream; may be given several times")
	timeout := cmd.Flags().Duration("timeout", api.DefaultDeadlineMS*time.Millisecond, "`duration` that the call may take")
	output := addJSONOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if (*channel == "") == (*stream == "") {
			return usage("publish: give either --channel or --stream")
		}
		if *channel != "" && len(*fields) > 0 {
			return usage("publish: --field is of streams; a message of a channel has a body alone")
		}
		named, err := fieldsOf(*fields)
		if err != nil {
			return err
		}
		text := []byte(*body)
		if !cmd.Flags().Changed("body") && named == nil {
			if text, err = readBody(p.in); err != nil {
				return err
			}
		}
		method, params := api.PubsubPublish.Name, map[string]any{"channel": *channel, "body": text}
		if *stream != "" {
			method, params = api.StreamPublish.Name, map[string]any{"stream": *stream, "body": text}
			if named != nil {
				params["fields"] = named
			}
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), *timeout)
		defer cancel()
		result, err := call(ctx, *socket, method, params)
		if err != nil {
			return err
		}
		return printJSON(p.out, result, outputFormat(*output, p.out))
	}
	return cmd
}

// fieldsOf parses fields of the form name=text; nil = there are none.
func fieldsOf(given []string) (map[string]any, error) {
	if len(given) == 0 {
		return nil, nil
	}
	fields := make(map[string]any, len(given))
	for _, f := range given {
		name, text, ok := strings.Cut(f, "=")
		if _, twice := fields[name]; !ok || name == "" || twice {
			return nil, usage("--field %s: write name=text, each name once", f)
		}
		fields[name] = text
	}
	return fields, nil
}

func readBody(in io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxBody+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxBody:
		return nil, usage("publish: the body on standard input has more than %d bytes", maxBody)
	}
	return text, nil
}
