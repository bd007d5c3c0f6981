// Package gcptraffic sends real requests through the load balancers of an emulated
// Google Cloud project that the Google Cloud provider has made: each flavour, what its
// routes do, and backends of service meshes that admit the gateway's certificate only;
// also while roots, certificates, pods and routes change. It counts the requests that are
// lost.
//
// Everything in it is a test: providers/gcp under an Account on one side, fake/gcpapi
// with its load balancers at work on the other, and the doubles of meshes' proxies
// behind. It never looks at what the provider believes: what counts is who answers, and
// what the pods saw.
package gcptraffic
