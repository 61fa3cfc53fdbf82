# What the kubelet, EKS's webhook and the cluster's DNS make of one pod of a manifest, as shell code:
#
#   perl pods.pl DIRECTORY FILE POD IP ROOT
#
# FILE is a manifest of DIRECTORY. POD is the pod's name, IP its address, ROOT the directory that its
# volumes are in. The pod's container whose command is s3lect becomes
#
#   argv=(...)         its command, until --, without the path of s3lect
#   program=(...)      what follows --
#   environment=(...)  NAME=VALUE
#   probes=(...)       KIND=URL
#   host=...           the pod's name in the cluster's DNS, if it has one
#
# A path below a volume's mountPath is in ROOT, and * as an address to listen at is IP, since all pods
# share one file system and one loopback interface. Volumes of tokens are written: "token of POD".
# Secrets are read from ROOT/secrets/NAME. Fails if the objects of FILE do not fit together.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use File::Path 'make_path';
use Manifests;

my ($directory, $file, $pod, $ip, $root) = @ARGV;
my $namespace = 'default';
my @documents = documents("$directory/$file");
my ($owner, $template) = pod_template(@documents);
my $spec = $template->{spec};
my @elect = grep { ($_->{command} || [''])->[0] eq '/usr/bin/s3lect' } containers($template);
die "$file: one container must have the command /usr/bin/s3lect, where the image has it\n" if @elect != 1;
my $container = $elect[0];

sub quoted {
  my ($word) = @_;
  $word =~ s/'/'\\''/g;
  return "'$word'";
}

sub write_file {
  my ($path, $text) = @_;
  open my $out, '>', $path or die "$path: $!\n";
  print $out $text;
  close $out or die "$path: $!\n";
}

# --- what belongs together ---

sub same_labels {
  my ($why, $selector) = @_;
  my $labels = $template->{metadata}{labels};
  for my $label (sort keys %$selector) {
    next if ($labels->{$label} // '') eq $selector->{$label};
    die "$file: $why selects $label: $selector->{$label}, which no pod has\n";
  }
}

my %ports = map { map { $_->{name} => $_->{containerPort} } @{$_->{ports} || []} } containers($template);

sub check_selectors {
  same_labels($owner->{kind}, $owner->{spec}{selector}{matchLabels}) if $owner->{spec}{selector};
  same_labels('a spread constraint', $_->{labelSelector}{matchLabels})
    for @{$spec->{topologySpreadConstraints} || []};
  for my $service (grep { $_->{kind} eq 'Service' } @documents) {
    same_labels("Service $service->{metadata}{name}", $service->{spec}{selector});
    for my $port (@{$service->{spec}{ports}}) {
      my $target = $port->{targetPort} // $port->{port};
      next if grep { $_ eq $target } %ports;
      die "$file: the Service sends to port $target, which no container has\n";
    }
  }
}

# --- volumes ---

my %mounts; # where a volume is mounted: where it is here

sub make_volume {
  my ($volume, $here) = @_;
  if (my $secret = $volume->{secret}) {
    grep { $_->{kind} eq 'Certificate' && $_->{spec}{secretName} eq $secret->{secretName} } @documents
      or die "$file: no Certificate makes the Secret $secret->{secretName}\n";
    symlink "$root/secrets/$secret->{secretName}", $here or die "$here: $!\n";
    return;
  }
  make_path($here);
  for my $source (@{$volume->{projected}{sources}}) {
    my $token = $source->{serviceAccountToken} or die "$file: what is the volume $volume->{name}?\n";
    write_file("$here/$token->{path}", "token of $pod");
  }
}

sub mount {
  my ($name, $path) = @_;
  my @volumes = grep { $_->{name} eq $name } @{$spec->{volumes} || []};
  die "$file: there is no volume $name\n" if @volumes != 1;
  my $here = "$root/$pod-$name";
  make_volume($volumes[0], $here);
  $mounts{$path} = $here;
}

# --- the environment ---

my %environment;

# What EKS adds to the pods of a service account with a role, where the pod does not say it itself.
sub add_identity {
  my $account = find("$file: serviceAccountName", 'ServiceAccount', $spec->{serviceAccountName},
    documents("$directory/identity.yaml"));
  my $role = $account->{metadata}{annotations}{'eks.amazonaws.com/role-arn'};
  return if !$role || exists $environment{AWS_ROLE_ARN};
  my $path = '/var/run/secrets/eks.amazonaws.com/serviceaccount';
  push @{$spec->{volumes}}, {name => 'aws-iam-token',
    projected => {sources => [{serviceAccountToken => {audience => 'sts.amazonaws.com', path => 'token'}}]}};
  mount('aws-iam-token', $path);
  %environment = (%environment, AWS_ROLE_ARN => $role, AWS_WEB_IDENTITY_TOKEN_FILE => "$path/token");
}

sub expand { # $(NAME), as the kubelet does
  my ($text) = @_;
  $text =~ s/\$\(([A-Z_]+)\)/$environment{$1} \/\/ die "$file: \$($1) is not in env\n"/ge;
  return $text;
}

sub read_environment {
  my %fields = ('metadata.name' => $pod, 'metadata.namespace' => $namespace, 'status.podIP' => $ip);
  for my $variable (@{$container->{env} || []}) {
    my $field = $variable->{valueFrom} && $variable->{valueFrom}{fieldRef}{fieldPath};
    $environment{$variable->{name}} =
      defined $field ? $fields{$field} // die "$file: there is no field $field\n" : expand($variable->{value});
  }
}

# Where what a word names is here.
sub here {
  my ($word) = @_;
  for my $path (keys %mounts) {
    return $word if $word =~ s/(^|=)\Q$path\E(?=\/|$)/$1$mounts{$path}/;
  }
  $word =~ s/=\*:/=$ip:/;
  return $word;
}

# --- the pod ---

# Kubernetes gives a pod of a StatefulSet a name below its headless Service.
sub pod_host {
  return if $owner->{kind} ne 'StatefulSet';
  my $service = find("$file: serviceName", 'Service', $owner->{spec}{serviceName}, @documents);
  $service->{spec}{clusterIP} eq 'None' or die "$file: the Service of a StatefulSet must be headless\n";
  return join '.', $pod, $service->{metadata}{name}, $namespace, cluster_domain;
}

sub probes {
  my @found;
  for my $kind (qw(startup readiness liveness)) {
    my $get = ($container->{$kind . 'Probe'} || next)->{httpGet} or die "$file: a probe without httpGet\n";
    my $port = $ports{$get->{port}} // die "$file: the $kind probe asks port $get->{port}, which is not named\n";
    push @found, "$kind=http://$ip:$port$get->{path}";
  }
  return @found;
}

check_selectors();
mount($_->{name}, $_->{mountPath}) for @{$container->{volumeMounts} || []};
read_environment();
add_identity();
my (undef, @command) = @{$container->{command}};
my @words = ('s3lect', map { here(expand($_)) } @command, @{$container->{args}});
my ($end) = grep { $words[$_] eq '--' } 0 .. $#words;
my @program = defined $end ? splice @words, $end : ();
shift @program;
my $host = pod_host() // '';
print 'argv=(', join(' ', map { quoted($_) } @words), ")\n";
print 'program=(', join(' ', map { quoted($_) } @program), ")\n";
print 'environment=(', join(' ', map { quoted("$_=" . here($environment{$_})) } sort keys %environment), ")\n";
print 'probes=(', join(' ', map { quoted($_) } probes()), ")\n";
print 'host=', quoted($host), "\n";
