package awsapi_test

import (
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"gatehouse.dev/fake/awsapi"
)

// BenchmarkCalls is what the emulator itself costs: 99 rules are made and described
// ten times, without a network and without the SDK.
func BenchmarkCalls(b *testing.B) {
	calls := 0
	for b.Loop() {
		server := awsapi.New(awsapi.Config{})
		post := func(form url.Values) string {
			calls++
			form.Set("Version", "2015-12-01")
			request := httptest.NewRequest("POST", "/", strings.NewReader(form.Encode()))
			request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=AKID/20261201/us-east-1/elasticloadbalancing/aws4_request")
			w := httptest.NewRecorder()
			server.ServeHTTP(w, request)
			if w.Code != 200 {
				b.Fatal(w.Body)
			}
			return w.Body.String()
		}
		arn := func(text, name string) string {
			_, rest, _ := strings.Cut(text, "<"+name+">")
			value, _, _ := strings.Cut(rest, "<")
			return value
		}
		lb := arn(post(url.Values{"Action": {"CreateLoadBalancer"}, "Name": {"shop"}, "Subnets.member.1": {publicA}, "Subnets.member.2": {publicB}}), "LoadBalancerArn")
		fixed := url.Values{"Action": {"CreateListener"}, "LoadBalancerArn": {lb}, "Port": {"80"}, "Protocol": {"HTTP"},
			"DefaultActions.member.1.Type": {"fixed-response"}, "DefaultActions.member.1.FixedResponseConfig.StatusCode": {"404"}}
		listener := arn(post(fixed), "ListenerArn")
		for i := range 99 {
			group := arn(post(url.Values{"Action": {"CreateTargetGroup"}, "Name": {"tg" + strconv.Itoa(i)}, "Protocol": {"HTTP"}, "Port": {"80"}, "VpcId": {vpc}, "TargetType": {"ip"}}), "TargetGroupArn")
			post(url.Values{"Action": {"CreateRule"}, "ListenerArn": {listener}, "Priority": {strconv.Itoa(i + 1)}, "Conditions.member.1.Field": {"path-pattern"},
				"Conditions.member.1.Values.member.1": {"/" + strconv.Itoa(i)}, "Actions.member.1.Type": {"forward"}, "Actions.member.1.TargetGroupArn": {group}})
			post(url.Values{"Action": {"RegisterTargets"}, "TargetGroupArn": {group}, "Targets.member.1.Id": {"10.0.1.1"}, "Targets.member.2.Id": {"10.0.1.2"}})
		}
		for range 10 {
			post(url.Values{"Action": {"DescribeRules"}, "ListenerArn": {listener}})
		}
	}
	b.ReportMetric(float64(calls)/b.Elapsed().Seconds(), "calls/s")
}
