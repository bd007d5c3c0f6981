package cluster

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"net/netip"
	"os"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"gatehouse.dev/test/cluster/certs"
)

const masters = "system:masters"

// credentials makes the authority, every certificate and key, and the
// administrator's clients.
func (c *Cluster) credentials(context.Context) (err error) {
	if c.ca, err = certs.NewAuthority("gatehouse-test-cluster"); err != nil {
		return err
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	text, err := certs.KeyPEM(key)
	if err != nil {
		return err
	}
	serving, err := c.ca.Server([]netip.Addr{Server.Addr(), netip.MustParseAddr("127.0.0.1")}, "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
	if err != nil {
		return err
	}
	kubelets, err := c.ca.Client("kube-apiserver-kubelet-client", masters)
	if err != nil {
		return err
	}
	policy := fmt.Sprintf(`{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [{"level": %q}]}`, c.config.Audit)
	for name, data := range map[string][]byte{"ca.crt": c.ca.PEM, "service-account.key": text, "audit.yaml": []byte(policy)} {
		if err := os.WriteFile(c.path(name), data, 0o600); err != nil {
			return err
		}
	}
	if err := serving.Write(c.dir, "apiserver"); err != nil {
		return err
	}
	if err := kubelets.Write(c.dir, "kubelet-client"); err != nil {
		return err
	}
	return c.clients()
}

// clients makes the configurations of those who act for the cluster itself.
// Each has its own name, so that the audit log tells them apart.
func (c *Cluster) clients() (err error) {
	manager, err := c.As("system:kube-controller-manager", masters)
	if err != nil {
		return err
	}
	if err := c.WriteKubeconfig(c.path("controller-manager.kubeconfig"), manager); err != nil {
		return err
	}
	if c.admin, err = c.As("admin", masters); err != nil {
		return err
	}
	if err := c.WriteKubeconfig(c.Kubeconfig(), c.admin); err != nil {
		return err
	}
	if c.client, err = kubernetes.NewForConfig(c.admin); err != nil {
		return err
	}
	c.kinds = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.client.Discovery()))
	c.dynamic, err = dynamic.NewForConfig(c.admin)
	return err
}

// REST is the administrator's configuration, the caller's to change. It is not
// limited in its rate.
func (c *Cluster) REST() *rest.Config { return rest.CopyConfig(c.admin) }

// Kubeconfig is the path of the administrator's kubeconfig file.
func (c *Cluster) Kubeconfig() string { return c.path("admin.kubeconfig") }

// As is the configuration of a user with a client certificate, who may do what
// RBAC gives to that name and those groups.
func (c *Cluster) As(user string, groups ...string) (*rest.Config, error) {
	p, err := c.ca.Client(user, groups...)
	if err != nil {
		return nil, err
	}
	r := c.anonymous()
	r.CertData, r.KeyData = p.Cert, p.Key
	return r, nil
}

// AsServiceAccount is the configuration of a ServiceAccount with a token of an
// hour. The error is the API server's, or that of a client that cannot be made.
func (c *Cluster) AsServiceAccount(ctx context.Context, namespace, name string) (*rest.Config, error) {
	token, err := c.client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("token of %s/%s: %w", namespace, name, err)
	}
	r := c.anonymous()
	r.BearerToken = token.Status.Token
	return r, nil
}

// anonymous knows the server and nobody's credentials.
func (c *Cluster) anonymous() *rest.Config {
	return &rest.Config{
		Host:            "https://" + Server.String(),
		TLSClientConfig: rest.TLSClientConfig{CAData: c.ca.PEM},
		QPS:             -1, // a test waits for what it tests, not for its own client
	}
}

// WriteKubeconfig writes a configuration as a file that programs can read.
func (c *Cluster) WriteKubeconfig(path string, r *rest.Config) error {
	k := clientcmdapi.NewConfig()
	k.Clusters["test"] = &clientcmdapi.Cluster{Server: r.Host, CertificateAuthorityData: r.CAData}
	k.AuthInfos["test"] = &clientcmdapi.AuthInfo{ClientCertificateData: r.CertData, ClientKeyData: r.KeyData, Token: r.BearerToken}
	k.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	k.CurrentContext = "test"
	return clientcmd.WriteToFile(*k, path)
}
