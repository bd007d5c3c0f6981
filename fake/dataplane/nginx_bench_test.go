package dataplane

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"text/template"
)

// nginxConfig has what the other contenders have: as many workers as the machine
// has cores, kept connections to the backend, the same TLS.
const nginxConfig = `
worker_processes 2;
daemon off;
master_process on;
pid {{.Dir}}/pid;
error_log {{.Dir}}/error.log;
events { worker_connections 1024; }
http {
  access_log off;
  keepalive_requests 100000000;
  client_body_temp_path {{.Dir}}/t1; proxy_temp_path {{.Dir}}/t2; fastcgi_temp_path {{.Dir}}/t3; uwsgi_temp_path {{.Dir}}/t4; scgi_temp_path {{.Dir}}/t5;
  upstream backend { server {{.Backend}}; keepalive 256; keepalive_requests 100000000; }
  server {
    listen {{.Address}}{{if .Secure}} ssl{{end}};
{{if .Secure}}
    ssl_certificate {{.Dir}}/serving.pem; ssl_certificate_key {{.Dir}}/serving.pem; ssl_protocols TLSv1.2 TLSv1.3;
    proxy_ssl_certificate {{.Dir}}/identity.pem; proxy_ssl_certificate_key {{.Dir}}/identity.pem; proxy_ssl_protocols TLSv1.2 TLSv1.3;
    proxy_ssl_trusted_certificate {{.Dir}}/back.pem; proxy_ssl_verify on; proxy_ssl_name backend.test; proxy_ssl_server_name on;
{{end}}
    location / {
      proxy_pass {{if .Secure}}https{{else}}http{{end}}://backend;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $host;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_set_header X-Forwarded-Host $host;
    }
  }
}
`

// startNginx is "" where there is none; the benchmark says how to get one.
func (s *stage) startNginx(b *testing.B) string {
	binary, err := exec.LookPath("nginx")
	if err != nil {
		b.Log("no nginx to compare with; on Debian: apt-get install nginx")
		return ""
	}
	dir := b.TempDir()
	address := closedPort(b)
	var text strings.Builder
	values := map[string]any{"Dir": dir, "Backend": s.backend, "Address": address, "Secure": s.secure}
	if err := template.Must(template.New("nginx").Parse(nginxConfig)).Execute(&text, values); err != nil {
		b.Fatal(err)
	}
	write := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	write("nginx.conf", []byte(text.String()))
	write("serving.pem", pairPEM(s.serving))
	write("identity.pem", pairPEM(s.identity))
	write("back.pem", []byte(s.back.root().PEM))
	os.Chmod(dir, 0o755)
	run := exec.Command(binary, "-c", filepath.Join(dir, "nginx.conf"), "-e", filepath.Join(dir, "error.log"))
	if err := run.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { run.Process.Signal(os.Interrupt); run.Wait() })
	if err := listening(address); err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "error.log"))
		b.Fatalf("%v: %s", err, log)
	}
	return address
}

func pairPEM(pair tls.Certificate) []byte {
	key := must(x509.MarshalECPrivateKey(pair.PrivateKey.(*ecdsa.PrivateKey)))
	return append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: key})...)
}
