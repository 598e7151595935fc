package config

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/coxswain-sidecar/coxswain/client/api"
)

// setting is one scalar or list of scalars that the environment and flags can set.
type setting struct {
	path string
	v    reflect.Value
}

// variable returns the setting's name in the environment.
func (s setting) variable() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(s.path, ".", "_"))
}

// settings returns all settings of c. Lists of sections, such as rules.items, are not
// among them: they can be set in files only.
func settings(c *Config) []setting { return collect("", reflect.ValueOf(c).Elem(), nil) }

// Changed returns the paths of the settings in which c differs from o, in the file's
// order. Of the rules, only the list of their files is compared.
func (c *Config) Changed(o *Config) []string {
	var paths []string
	others := settings(o)
	for i, s := range settings(c) {
		if !reflect.DeepEqual(s.v.Interface(), others[i].v.Interface()) {
			paths = append(paths, s.path)
		}
	}
	return paths
}

func collect(path string, v reflect.Value, to []setting) []setting {
	for i := range v.NumField() {
		name := key(v.Type().Field(i))
		if name == "" {
			continue
		}
		f, at := v.Field(i), join(path, name)
		switch {
		case f.Kind() == reflect.Struct:
			to = collect(at, f, to)
		case f.Kind() == reflect.Slice && f.Type().Elem().Kind() == reflect.Struct:
		default:
			to = append(to, setting{at, f})
		}
	}
	return to
}

// key returns the name of a field in the file, empty if the field cannot be set there.
func key(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	return name
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// trimEnd removes line breaks from the end of a value: values from a file or a Secret
// often end with one, and it is never meant to be part of the value.
func trimEnd(text string) string { return strings.TrimRight(text, "\r\n") }

// trim applies trimEnd to every text setting.
func trim(all []setting) {
	for _, s := range all {
		switch {
		case s.v.Kind() == reflect.String:
			s.v.SetString(trimEnd(s.v.String()))
		case s.v.Kind() == reflect.Slice && s.v.Type().Elem().Kind() == reflect.String:
			for i := range s.v.Len() {
				s.v.Index(i).SetString(trimEnd(s.v.Index(i).String()))
			}
		}
	}
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	onOffType    = reflect.TypeFor[api.OnOff]()
)

// setText parses a value and sets v. Files, the environment and flags all use it, so that
// a value means the same in each. The items of a list are separated by commas.
func setText(v reflect.Value, text string) error {
	switch {
	case v.Type() == durationType:
		return setDuration(v, text)
	case v.Type() == onOffType:
		return setOnOff(v, text)
	case v.Kind() == reflect.String:
		v.SetString(text)
		return nil
	case v.Kind() == reflect.Bool:
		return setBool(v, text)
	case v.CanInt():
		return setInt(v, text)
	case v.Kind() == reflect.Slice:
		return setList(v, text)
	default:
		return fmt.Errorf("internal: no reading for %s", v.Type())
	}
}

func setDuration(v reflect.Value, text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%q is not a duration; write a number with its unit, such as 5s, 250ms or 1m30s", text)
	}
	v.SetInt(int64(d))
	return nil
}

// on parses a switch, which may be written as on and off or as true and false, whatever
// the field's type: YAML 1.1 reads a bare on or off as a boolean, so a tool between the
// user and this file may have replaced one form by the other.
func on(text string) (is, ok bool) {
	switch text {
	case "true", "on":
		return true, true
	case "false", "off":
		return false, true
	}
	return false, false
}

func setBool(v reflect.Value, text string) error {
	is, ok := on(text)
	if !ok {
		return fmt.Errorf("%q is neither true nor false; write one of them", text)
	}
	v.SetBool(is)
	return nil
}

func setOnOff(v reflect.Value, text string) error {
	is, ok := on(text)
	switch {
	case !ok:
		return fmt.Errorf("%q is neither on nor off; write one of them", text)
	case is:
		v.SetString("on")
	default:
		v.SetString("off")
	}
	return nil
}

func setInt(v reflect.Value, text string) error {
	n, err := strconv.ParseInt(text, 10, v.Type().Bits())
	if errors.Is(err, strconv.ErrRange) {
		return fmt.Errorf("%s is too large for any field; write a smaller number", text)
	}
	if err != nil {
		return fmt.Errorf("%q is not a whole number; write it in decimal digits, such as 10", text)
	}
	v.SetInt(n)
	return nil
}

func setList(v reflect.Value, text string) error {
	list := reflect.MakeSlice(v.Type(), 0, 4)
	for _, item := range strings.Split(text, ",") {
		e := reflect.New(v.Type().Elem()).Elem()
		if err := setText(e, strings.TrimSpace(item)); err != nil {
			return err
		}
		list = reflect.Append(list, e)
	}
	v.Set(list)
	return nil
}
