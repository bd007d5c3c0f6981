// Package s3 emulates the little of S3 that trust bundles and access logs need:
// buckets, versioning, and objects to put, get, head, list and delete, with their
// versions and delete markers.
//
// Objects are held in memory. It knows no policies, no encryption and no multipart
// uploads. Start with [New].
package s3
