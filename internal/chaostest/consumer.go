package chaostest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// consumer is a process that consumes the messages of a group, and is killed and started again. Each start of it writes
// a journal of its own.
type consumer struct {
	name, group, dir string
	cmd              []string
	lives            int
	run              *process
}

// start starts the process again.
func (c *consumer) start() error {
	c.lives++
	name := fmt.Sprintf("%s.%d", c.name, c.lives)
	out, err := os.Create(filepath.Join(c.dir, name+".journal"))
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }() // the child has its own
	log, err := os.OpenFile(filepath.Join(c.dir, c.name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(c.cmd[0], append([]string{"-name", name}, c.cmd[1:]...)...) //nolint:gosec // what Build made
	cmd.Stdout, cmd.Stderr = out, log
	if c.run, err = start(cmd); err != nil {
		return fmt.Errorf("%s: start: %w", name, err)
	}
	return nil
}

// stop lets the process finish the messages that it has. If that takes too long, stop kills it
// and returns an error.
func (c *consumer) stop() error {
	if err := c.run.os.Signal(os.Interrupt); err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	select {
	case <-c.run.done:
		return nil
	case <-time.After(patience):
		c.run.kill()
		return fmt.Errorf("%s: it does not end", c.name)
	}
}

// journals reads the journals of all its starts.
func (c *consumer) journals() (handled []Handling, left []Span, err error) {
	for life := range c.lives {
		name := fmt.Sprintf("%s.%d", c.name, life+1)
		file, err := os.Open(filepath.Join(c.dir, name+".journal"))
		if err != nil {
			return nil, nil, err
		}
		some, cuts, err := readJournal(file, Handling{Client: name, Group: c.group, Stream: bulk})
		_ = file.Close() // it was read
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		handled, left = append(handled, some...), append(left, cuts...)
	}
	return handled, left, nil
}

var errJournal = errors.New("no line of a consumer")

// readJournal parses the journal of internal/chaostest/consumer. of has the fields that are the same for all its
// handlings. A line without a newline is the last one of a killed process, and is ignored.
func readJournal(from io.Reader, of Handling) (handled []Handling, left []Span, err error) {
	r := bufio.NewReader(from)
	for {
		line, err := r.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return handled, left, nil
		}
		if err != nil {
			return nil, nil, err
		}
		f := strings.Fields(line)
		if len(f) == 0 {
			return nil, nil, errJournal
		}
		number := func(i int) (n int64) {
			if i < len(f) && err == nil {
				n, err = strconv.ParseInt(f[i], 10, 64)
			}
			return n
		}
		var h *Handling
		if n := number(1); n > 0 && n <= int64(len(handled)) {
			h = &handled[n-1]
		}
		switch what := f[0] + " " + strconv.Itoa(len(f)); {
		case what == "begin 7" && h == nil && number(1) == int64(len(handled)+1):
			x := of
			x.Call, x.Begin, x.Attempt, x.Message, x.ID = time.Duration(number(2)), time.Duration(number(3)), number(4), f[5], f[6]
			x.EndCall, x.EndReturn = Never, Never
			handled = append(handled, x)
		case what == "end 4" && h != nil:
			h.End, h.Outcome, h.EndCall = Kind(f[2]), Unknown, time.Duration(number(3))
		case what == "told 4" && h != nil:
			h.Outcome, h.EndReturn = outcome(f[2]), time.Duration(number(3))
		case what == "left 3":
			left = append(left, Span{time.Duration(number(1)), time.Duration(number(2))})
		default:
			err = errJournal
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%q: %w", line, err)
		}
	}
}
