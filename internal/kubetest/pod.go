package kubetest

import "slices"

// Change changes a pod.
type Change func(pod Object)

// Pod returns a crawler's pod with two containers.
func Pod(namespace string, changes ...Change) Object {
	pod := Object{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": Name("crawler"), "namespace": namespace},
		"spec": map[string]any{"containers": []any{
			map[string]any{"name": "fetch", "image": "crawler:1"},
			map[string]any{"name": "parse", "image": "crawler:1"},
		}},
	}
	for _, change := range changes {
		change(pod)
	}
	return pod
}

// Labelled sets the label for injection.
func Labelled(pod Object) { put(pod, "true", "metadata", "labels", "coxswain.dev/inject") }

// Annotated sets the annotation coxswain.dev/NAME.
func Annotated(name, value string) Change {
	return With(value, "metadata", "annotations", "coxswain.dev/"+name)
}

// With sets the value under these keys.
func With(value any, keys ...string) Change { return func(pod Object) { put(pod, value, keys...) } }

// First sets a field of the first of the pod's containers.
func First(key string, value any) Change {
	return func(pod Object) { List(pod.At("spec")["containers"])[0][key] = value }
}

func put(o Object, value any, keys ...string) {
	for _, key := range keys[:len(keys)-1] {
		next, ok := o[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			o[key] = next
		}
		o = next
	}
	o[keys[len(keys)-1]] = value
}

// List returns v as a list of objects, empty if v is not a list.
func List(v any) []Object {
	items, _ := v.([]any)
	objects := make([]Object, 0, len(items))
	for _, item := range items {
		o, _ := item.(map[string]any)
		objects = append(objects, o)
	}
	return objects
}

// Names returns the names of the objects of a list.
func Names(v any) []string {
	var names []string
	for _, o := range List(v) {
		name, _ := o["name"].(string)
		names = append(names, name)
	}
	return names
}

// Called returns the object of that name in a list, nil if there is none.
func Called(v any, name string) Object {
	list := List(v)
	if i := slices.IndexFunc(list, func(o Object) bool { return o["name"] == name }); i >= 0 {
		return list[i]
	}
	return nil
}

// Sidecar returns the container coxswain of a pod if it is the first of the init
// containers and a native sidecar, nil otherwise.
func Sidecar(pod Object) Object {
	list := List(pod.At("spec")["initContainers"])
	if len(list) == 0 || list[0]["name"] != "coxswain" || list[0]["restartPolicy"] != "Always" {
		return nil
	}
	return list[0]
}
