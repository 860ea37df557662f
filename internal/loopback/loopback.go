package loopback

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Limits of one request.
const (
	Timeout = 2 * time.Second // from the connection to the last byte
	MaxBody = 1 << 20         // bytes
)

// Kind is a class of failures.
type Kind string

// The kinds of failures.
const (
	Refused  Kind = "refused"  // nothing listens
	TooSlow  Kind = "timeout"  // no whole answer within Timeout
	TooLarge Kind = "size"     // the body is larger than MaxBody
	Foreign  Kind = "address"  // the address is not of this machine
	Broken   Kind = "protocol" // what came is no HTTP
)

// Error says what became of a request.
type Error struct {
	Kind Kind
	URL  string
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("GET %s: %v", e.URL, e.Err) }
func (e *Error) Unwrap() error { return e.Err }

// Answer is what a server said.
type Answer struct {
	Status int
	Body   []byte
}

// Parse reads the base address of a server: http, an IP literal of the loopback interface or localhost, a port, perhaps a path; no user, query
// or fragment.
func Parse(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		return nil, fmt.Errorf("%q is no address of a server: %w", s, err)
	}
	switch {
	case u.Scheme != "http":
		return nil, fmt.Errorf("the address %q must begin with http://", s)
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, fmt.Errorf("the address %q must have no user, query or fragment", s)
	case !isPort(u.Port()):
		return nil, fmt.Errorf("the address %q must have a port, 1 to 65535", s)
	case u.Hostname() != "localhost" && !isLoopback(u.Hostname()):
		return nil, fmt.Errorf("the address %q is not of this machine: only 127.0.0.1, [::1] and localhost are asked", s)
	}
	return u, nil
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// errForeign is why no connection was made.
var errForeign = errors.New("its address is not of this machine")

// dialer connects to this machine only.
var dialer = &net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil || !isLoopback(host) { // what a name resolved to counts, not the name
		return errForeign
	}
	return nil
}}

var client = &http.Client{
	Timeout:       Timeout,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Transport: &http.Transport{
		DisableKeepAlives:      true, // a probe leaves no connection behind for the server to hold
		DialContext:            dialer.DialContext,
		MaxResponseHeaderBytes: 64 << 10,
	},
}

// Get asks once. Any status is an answer; an error is an *Error.
func Get(ctx context.Context, address string) (*Answer, error) {
	fail := func(kind Kind, err error) (*Answer, error) { return nil, &Error{Kind: kind, URL: address, Err: err} }
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fail(Broken, err)
	}
	resp, err := client.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // what was asked is said once
		}
		return fail(kindOf(err), err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, MaxBody+1))
	if err != nil {
		return fail(kindOf(err), err)
	}
	if len(b) > MaxBody {
		return fail(TooLarge, fmt.Errorf("the answer is larger than %d bytes", MaxBody))
	}
	return &Answer{resp.StatusCode, b}, nil
}

func kindOf(err error) Kind {
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, errForeign):
		return Foreign
	case errors.Is(err, syscall.ECONNREFUSED):
		return Refused
	case errors.As(err, &timeout) && timeout.Timeout(), strings.Contains(err.Error(), "Client.Timeout"):
		return TooSlow
	}
	return Broken
}

// Connect opens and closes one connection: whether anybody listens.
func Connect(ctx context.Context, hostport string) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	c, err := dialer.DialContext(ctx, "tcp", hostport)
	if err != nil {
		return &Error{Kind: kindOf(err), URL: hostport, Err: err}
	}
	return c.Close()
}

// Taken says whether something listens at a port of 127.0.0.1, or of all addresses. A port that may not be used for another reason is not taken.
func Taken(port int) bool {
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return errors.Is(err, syscall.EADDRINUSE)
	}
	l.Close()
	return false
}

// FreePort is a port of the loopback interface on which nothing listens now.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
