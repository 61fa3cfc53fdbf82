# Checks .github/workflows: perl workflows.pl ROOT
#
# - Each script that a step runs is in the repository and can be executed, and its --help knows the
#   options and the first word that it gets, for every value of the job's matrix.
# - Actions of others are pinned to a commit; each job has a time limit, and no workflow may write by
#   default.
# - The builds of tests.yml are the presets of CMakePresets.json that can be tested or are built only.
# - The templates of issues have what GitHub asks for.
#
# Each fault is one line on standard error, and the exit status is then 1.
use strict;
use warnings;
use CPAN::Meta::YAML;
use JSON::PP;

my ($root) = @ARGV;
chdir $root or die "$root: $!\n";
my ($faults, $commands, %help) = (0, 0);

sub fault {
  print STDERR join(' ', @_), "\n";
  $faults++;
}

# What a job is run with: a list of NAME => VALUE for each member of its matrix.
sub combinations {
  my ($matrix) = @_;
  my @all = ({});
  for my $name (grep { ref $matrix->{$_} eq 'ARRAY' && $_ ne 'include' } sort keys %{$matrix || {}}) {
    @all = map { my $one = $_; map { +{%$one, $name => $_} } @{$matrix->{$name}} } @all;
  }
  my @more = @{($matrix || {})->{include} || []};
  return keys %{$all[0]} ? (@all, @more) : @more ? @more : @all;
}

sub help {
  my ($script) = @_;
  $help{$script} //= do {
    open my $out, '-|', $script, '--help' or die "$script: $!\n";
    local $/;
    my $text = <$out> // '';
    close $out or fault("$script --help fails");
    $text;
  };
  return $help{$script};
}

sub check_command {
  my ($where, $script, @words) = @_;
  $commands++;
  return fault("$where: there is no $script, or it cannot be executed") if !-f $script || !-x $script;
  my $text = help($script);
  my $first = 1;
  for my $word (@words) {
    my ($option, $value) = $word =~ /^(--[a-z-]+)(?:=(.*))?$/;
    if (defined $option) {
      fault("$where: $script --help does not have $option") if $text !~ /(?<![\w-])\Q$option\E(?![\w-])/;
      fault("$where: $script --help does not have $value") if defined $value && $text !~ /\b\Q$value\E\b/;
    } elsif ($first) {
      fault("$where: $script --help does not have $word") if $text !~ /\b\Q$word\E\b/;
    }
    $first = 0;
  }
}

sub check_step {
  my ($where, $step, @matrix) = @_;
  my $action = $step->{uses} // '';
  fault("$where: $action is not pinned to a commit") if $action ne '' && $action !~ /^\S+\@[0-9a-f]{40}\b/;
  for my $values (@matrix) {
    my $run = $step->{run} // next;
    $run =~ s/\$\{\{ matrix\.(\w+) \}\}/$values->{$1} \/\/ "NO-$1"/ge;
    for my $line (split /\n|&&/, $run =~ s/\\\n//gr) {
      my ($script, @words) = grep { length } split /\s+/, $line =~ s/>\S+//r;
      check_command($where, $script, @words) if defined $script && $script =~ s/^\.\///;
    }
  }
}

my %builds;
for my $file (glob '.github/workflows/*.yml') {
  my $workflow = (CPAN::Meta::YAML->read($file) or die "$file: " . CPAN::Meta::YAML->errstr . "\n")->[0];
  my $permissions = $workflow->{permissions};
  fault("$file: permissions must be contents: read") if ref $permissions ne 'HASH' || grep { $_ ne 'read' } values %$permissions;
  for my $name (sort keys %{$workflow->{jobs}}) {
    my $job = $workflow->{jobs}{$name};
    if (my $called = $job->{uses}) {
      fault("$file: $name: there is no $called") if !-f $called;
      next;
    }
    fault("$file: $name has no timeout-minutes") if !$job->{'timeout-minutes'};
    my @matrix = combinations($job->{strategy}{matrix});
    if ($file =~ /tests\.yml$/) {
      $builds{$_->{build} // ''} = 1 for @matrix;
    }
    check_step("$file: $name", $_, @matrix) for @{$job->{steps}};
  }
}

# A build that nothing tests would be found broken by its users.
open my $in, '<', 'CMakePresets.json' or die "CMakePresets.json: $!\n";
my $presets = decode_json(do { local $/; <$in> });
for my $preset (@{$presets->{testPresets}}, {name => 'clang'}) {
  fault("tests.yml does not build $preset->{name}") if !$builds{$preset->{name}};
}
# GitHub ignores a template that it does not understand.
sub check_template {
  my ($file) = @_;
  my $template = (CPAN::Meta::YAML->read($file) or die "$file: " . CPAN::Meta::YAML->errstr . "\n")->[0];
  my %ids;
  fault("$file has no $_") for grep { !$template->{$_} } qw(name description body);
  for my $field (@{$template->{body} || []}) {
    my ($type, $id) = ($field->{type} // '', $field->{id} // '');
    fault("$file: what is a '$type'?") if $type !~ /^(?:markdown|textarea|input|dropdown|checkboxes)$/;
    next if $type eq 'markdown' && $field->{attributes}{value};
    fault("$file: the ID '$id' is bad, or not the only one") if $id !~ /^[\w-]+$/ || $ids{$id}++;
    fault("$file: $id has no label") if !$field->{attributes}{label};
  }
}
my @templates = grep { !/config\.yml$/ } glob '.github/ISSUE_TEMPLATE/*.yml';
check_template($_) for @templates;
fault('there are no templates of issues') if !@templates;

fault("only $commands commands found") if $commands < 8;
exit 1 if $faults;
print "$commands commands\n";
