package report

import "slices"

// AddViews adds what became of views in a later part of the same work to what became of
// them before. The later outcome counts, but a view that was updated and then stayed as it
// was counts as updated.
func AddViews(before, after []ViewResult) []ViewResult {
	for _, v := range after {
		i := slices.IndexFunc(before, func(old ViewResult) bool { return old.Name == v.Name })
		switch {
		case i < 0:
			before = append(before, v)
		case before[i].Result != Updated || v.Result != Unchanged:
			before[i] = v
		}
	}
	return before
}

// AddExports does for exported folders what AddViews does for views. A folder that was
// updated and then stayed as it was shows the later generation.
func AddExports(before, after []ExportResult) []ExportResult {
	for _, e := range after {
		i := slices.IndexFunc(before, func(old ExportResult) bool { return old.Path == e.Path })
		switch {
		case i < 0:
			before = append(before, e)
		case before[i].Result != Updated || e.Result != Unchanged:
			before[i] = e
		default:
			before[i].Generation = e.Generation
		}
	}
	return before
}
