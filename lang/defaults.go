package lang

import "reflect"

// Defaults returns a new struct of the type that options points to, with the defaults of its tags filled in: what decoding a
// block without arguments gives. It panics where Register would.
func Defaults(options any) any {
	if options == nil {
		return nil
	}
	c, err := compile(&Schema{Options: options}, false)
	if err != nil {
		panic("lang: " + err.Error())
	}
	out := reflect.New(c.typ)
	out.Elem().Set(c.proto)
	return out.Interface()
}
