package fault

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// most is how much of an answer of the proxy's interface is read.
const most = 1 << 20

// apiTimeout bounds one question.
const apiTimeout = 10 * time.Second

// api is the interface of one Toxiproxy.
type api struct {
	base   string // http://127.0.0.1:PORT
	client *http.Client
}

func newAPI(base string) *api {
	return &api{base, &http.Client{
		Timeout:       apiTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		// No proxy of the environment's, and no connection that outlives its question.
		Transport: &http.Transport{DisableKeepAlives: true, DialContext: (&net.Dialer{}).DialContext},
	}}
}

// Proxy is one proxy as the interface has it.
type Proxy struct {
	Name     string  `json:"name"`
	Listen   string  `json:"listen"`
	Upstream string  `json:"upstream"`
	Enabled  bool    `json:"enabled"`
	Toxics   []Toxic `json:"toxics,omitempty"`
}

// do asks, and reads the answer into out unless that is nil.
func (a *api) do(ctx context.Context, method, path string, in, out any, want int) error {
	var body io.Reader = http.NoBody
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, a.base+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := a.client.Do(req)
	if err != nil {
		return fmt.Errorf("ask the proxy: %w", err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, most))
	if err != nil {
		return fmt.Errorf("read what the proxy answers to %s %s: %w", method, path, err)
	}
	if res.StatusCode != want {
		return fmt.Errorf("the proxy answers %s %s with status %d: %s", method, path, res.StatusCode, strings.TrimSpace(string(text[:min(len(text), 300)])))
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("what the proxy answers to %s %s is not as it should be: %w", method, path, err)
	}
	return nil
}

// version asks what the program says of itself.
func (a *api) version(ctx context.Context) (string, error) {
	var v struct {
		Version string `json:"version"`
	}
	err := a.do(ctx, http.MethodGet, "/version", nil, &v, http.StatusOK)
	return v.Version, err
}

// create makes a proxy; its answer has the port that was found for it.
func (a *api) create(ctx context.Context, p Proxy) (out Proxy, err error) {
	return out, a.do(ctx, http.MethodPost, "/proxies", p, &out, http.StatusCreated)
}

func (a *api) add(ctx context.Context, proxy string, t Toxic) error {
	return a.do(ctx, http.MethodPost, "/proxies/"+proxy+"/toxics", t, nil, http.StatusOK)
}

// show is the proxy as it is now.
func (a *api) show(ctx context.Context, proxy string) (out Proxy, err error) {
	return out, a.do(ctx, http.MethodGet, "/proxies/"+proxy, nil, &out, http.StatusOK)
}

func (a *api) remove(ctx context.Context, proxy string) error {
	return a.do(ctx, http.MethodDelete, "/proxies/"+proxy, nil, nil, http.StatusNoContent)
}
