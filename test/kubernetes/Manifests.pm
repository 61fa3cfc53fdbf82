# Reads the manifests of examples/kubernetes, and checks what no schema can: that the objects of a file
# fit together. Every problem is one line on standard error, and the exit status is then 1.
#
# CPAN::Meta::YAML comes with perl. It knows neither [a, b] nor {a: b} (but {} and []), so that the
# manifests do without them. All its values are strings.
package Manifests;
use strict;
use warnings;
use CPAN::Meta::YAML;
use Exporter 'import';
our @EXPORT = qw(documents find pod_template containers cluster_domain);

# The domain of a cluster's Services, which pods know from their resolver.
use constant cluster_domain => 'svc.cluster.local';

sub documents {
  my ($file) = @_;
  my $documents = CPAN::Meta::YAML->read($file) or die "$file: " . CPAN::Meta::YAML->errstr . "\n";
  for my $d (@$documents) {
    $d->{apiVersion} && $d->{kind} && $d->{metadata}{name} or die "$file: an object without kind or name\n";
  }
  return @$documents;
}

# The object of that kind and name, which must be there; `why` names what refers to it.
sub find {
  my ($why, $kind, $name, @documents) = @_;
  my @found = grep { $_->{kind} eq $kind && $_->{metadata}{name} eq $name } @documents;
  die "$why: there is no $kind $name\n" if @found != 1;
  return $found[0];
}

# The object of a file that makes pods, and its template of them.
sub pod_template {
  my (@documents) = @_;
  for my $d (@documents) {
    my $spec = $d->{kind} eq 'CronJob' ? $d->{spec}{jobTemplate}{spec} : $d->{spec};
    return ($d, $spec->{template}) if $spec->{template};
  }
  die "nothing here makes pods\n";
}

sub containers {
  my ($template) = @_;
  return (@{$template->{spec}{initContainers} || []}, @{$template->{spec}{containers}});
}

1;
