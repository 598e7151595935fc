package redis

// AppendColumns appends the arguments of n items of one script as its form for many takes
// them: the first argument of all items, then the second one of all items, and so on. An
// argument that is the same for all items is appended once, so that the server parses it
// once; the terms of a limit mostly are the same. A mask follows, with '1' for each argument
// that was appended once and '0' for each other one, and then n. All items must have the same
// number of arguments.
func AppendColumns(to []any, n int, args func(item int) []any) []any {
	first := args(0)
	mask := make([]byte, len(first))
	for c, value := range first {
		mask[c] = '1'
		for i := 1; i < n && mask[c] == '1'; i++ {
			if !same(args(i)[c], value) {
				mask[c] = '0'
			}
		}
		to = append(to, value)
		for i := 1; i < n && mask[c] == '0'; i++ {
			to = append(to, args(i)[c])
		}
	}
	return append(to, string(mask), n)
}

// same reports whether two arguments, which may be pointers, are the same text or number.
func same(a, b any) bool {
	switch p := a.(type) {
	case *string:
		q, ok := b.(*string)
		return ok && *p == *q
	case *int64:
		q, ok := b.(*int64)
		return ok && *p == *q
	default:
		return a == b
	}
}
