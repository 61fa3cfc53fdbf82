#!/usr/bin/perl
# The options of an elector, from include/s3lect/elector.h and the command's table of options:
#   options.pl page ROOT    elector-options.md
#   options.pl check ROOT   says which option is missing from one of the places that CONTRIBUTING.md
#                           names, and fails then
use strict;
use warnings;
use lib __FILE__ =~ m{^(.*)/} ? $1 : '.';
use Pages;

my ($what, $root) = @ARGV;
die "usage: options.pl page|check ROOT\n" unless defined $root && $what =~ /^(page|check)$/;

sub text_of { # PATTERN
  my $text = '';
  for my $path (glob "$root/$_[0]") {
    open my $file, '<', $path or die "$path: $!\n";
    local $/;
    $text .= <$file>;
  }
  return $text;
}

my ($body) = text_of('include/s3lect/elector.h') =~ /struct s3lect_elector_options_s \{(.*?)\n\}/s;
my @options; # [name, comment, is_callback]
while ($body =~ m{^  (?:const )?(\w+)\*? (\w+);(?:\s*/\* (.*?) \*/)?}msg) {
  my ($type, $name, $comment) = ($1, $2, $3 // '');
  push @options, [$name, $comment =~ s/\s+/ /gr, $type =~ /_cb$/] if $name ne 'size';
}
die "found only " . @options . " options\n" if @options < 25;

# What the command has for an option, where that is no option of the same meaning.
my %command = (lockfile_path => 'the key in `--store`', store => '`--store`',
  peer_client => '`--peer-ca` and others', observer => '`s3lect watch`');
my $table = text_of('src/cli/options_table.c');
$command{$2} = "`--$1`" while $table =~ /\{"([\w-]+)",[^{}]*?\b(?:AT|SET)\(elector\.(\w+)/g;

sub print_page {
  print "# Options of an elector\n\n",
    "<!-- The build makes this page from elector.h and the command's options: edit those. -->\n\n",
    "Zero or NULL means the default. How they work together: [options.md](options.md).\n\n",
    "| option | command | what |\n|---|---|---|\n";
  for (@options) {
    my ($name, $comment, $is_callback) = @$_;
    my $command = $command{$name} // ($is_callback ? 'events' : '');
    $command = '' if $name eq 'on_trace';
    print "| `$name` | $command | ", $comment =~ s/([*<>|\[\]])/\\$1/gr, " |\n";
  }
}

sub check {
  my $missing = 0;
  my %text = map { $_ => text_of($_) }
    qw(src/elector/*.c examples/node-addon/native/elector.c test/elector/*.c CHANGELOG.md);
  for (grep { !$_->[2] } @options) {
    my ($name, $comment) = @$_;
    my @absent = grep { $text{$_} !~ /[>., `(]$name\b/ } sort keys %text;
    push @absent, 'src/cli/options_table.c' unless exists $command{$name};
    push @absent, 'include/s3lect/elector.h (a comment)' if $comment eq '';
    print "$name is not in $_\n" for @absent;
    $missing += @absent;
  }
  exit($missing > 0 ? 1 : 0);
}

{ page => \&print_page, check => \&check }->{$what}->();
