# Issues the certificates of a manifest, as cert-manager does, with openssl:
#
#   perl certificates.pl FILE ROOT
#
# Each Certificate becomes a folder ROOT/secrets/SECRETNAME with tls.crt, tls.key and ca.crt.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use File::Path 'make_path';
use Manifests;

my ($file, $root) = @ARGV;
my @documents = documents($file);

my %key_usages = ('digital signature' => 'digitalSignature', 'key encipherment' => 'keyEncipherment');
my %extended_usages = ('server auth' => 'serverAuth', 'client auth' => 'clientAuth');

sub run {
  my (@command) = @_;
  system("@command >>$root/openssl.log 2>&1") == 0 or die "@command: failed, see $root/openssl.log\n";
}

# The extensions of the certificate. What cert-manager has of usages and this test does not is an error.
sub extensions {
  my ($spec) = @_;
  my (@key, @extended);
  for my $usage (@{$spec->{usages} || []}) {
    if ($key_usages{$usage}) { push @key, $key_usages{$usage} }
    elsif ($extended_usages{$usage}) { push @extended, $extended_usages{$usage} }
    else { die "$file: the test does not know the usage '$usage'\n" }
  }
  my $is_ca = ($spec->{isCA} // 'false') eq 'true';
  push @key, 'keyCertSign', 'cRLSign' if $is_ca;
  my @lines = 'basicConstraints=critical,CA:' . ($is_ca ? 'TRUE' : 'FALSE');
  push @lines, 'keyUsage=critical,' . join(',', @key) if @key;
  push @lines, 'extendedKeyUsage=' . join(',', @extended) if @extended;
  my @names = ((map { "DNS:$_" } @{$spec->{dnsNames} || []}), map { "IP:$_" } @{$spec->{ipAddresses} || []});
  push @lines, 'subjectAltName=' . join(',', @names) if @names;
  return join '', map { "$_\n" } @lines;
}

sub days {
  my ($spec) = @_;
  my ($hours) = ($spec->{duration} // '2160h') =~ /^([0-9]+)h$/ or die "$file: what is the duration $spec->{duration}?\n";
  return $hours / 24;
}

# openssl's arguments that say who signs: the key itself, or the authority in another Secret.
sub signer {
  my ($spec, $here) = @_;
  my $issuer = find("$file: issuerRef", $spec->{issuerRef}{kind}, $spec->{issuerRef}{name}, @documents);
  return "-signkey $here/tls.key" if $issuer->{spec}{selfSigned};
  my $secret = $issuer->{spec}{ca}{secretName} or die "$file: what is the issuer $issuer->{metadata}{name}?\n";
  my $authority = "$root/secrets/$secret";
  -e "$authority/tls.crt" or die "$file: no Certificate before makes the Secret $secret\n";
  return "-CA $authority/tls.crt -CAkey $authority/tls.key -CAcreateserial";
}

for my $certificate (grep { $_->{kind} eq 'Certificate' } @documents) {
  my $spec = $certificate->{spec};
  my $here = "$root/secrets/$spec->{secretName}";
  make_path($here);
  ($spec->{privateKey}{algorithm} // '') eq 'ECDSA' or die "$file: the test makes keys of ECDSA only\n";
  open my $out, '>', "$here/extensions" or die "$here: $!\n";
  print $out extensions($spec);
  close $out;
  my $subject = $spec->{commonName} ? "/CN=$spec->{commonName}" : '/';
  run("openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-$spec->{privateKey}{size} -nodes"
      . " -subj '$subject' -keyout $here/tls.key -out $here/request");
  my $signer = signer($spec, $here);
  run("openssl x509 -req -in $here/request $signer -days " . days($spec)
      . " -extfile $here/extensions -out $here/tls.crt");
  my ($authority) = $signer =~ /-CA (\S+)/;
  run('cp ' . ($authority // "$here/tls.crt") . " $here/ca.crt");
}
