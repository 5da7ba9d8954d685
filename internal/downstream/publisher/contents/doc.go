// Package contents brings objects, packs, patches and records into a bucket. It resumes uploads
// in parts, sends a bounded number of bodies at once, and looks for each object after its upload.
package contents
