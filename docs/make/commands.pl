#!/usr/bin/perl
# commands.pl PROGRAM PAGE: prints PAGE (s3lect.1.in, s3lect-fakes3.1.in) with the text of PROGRAM's own
# --help at its lines
#   .\" INSERT synopsis    and    .\" INSERT commands    of a program that has commands, or
#   .\" INSERT help        of one that has only options
# pages.cmake calls it.
use strict;
use warnings;
use lib __FILE__ =~ m{^(.*)/} ? $1 : '.';
use Pages;

my ($program, $page) = @ARGV;
die "usage: commands.pl PROGRAM PAGE\n" unless defined $page;

sub help {
  open my $out, '-|', $program, @_, '--help' or die "$program: $!\n";
  my @lines = <$out>;
  close $out or die "$program @_ --help: exit status $?\n";
  chomp @lines;
  return @lines;
}

my (@commands, $in_commands);
for (help()) {
  $in_commands = $_ eq 'Commands:' if /^$|:$/;
  push @commands, $1 if $in_commands && /^  (\w+) /;
}

# Usage, text, groups of options [name, meta, help lines], examples and closing text of one command.
sub read_command {
  my ($name) = @_;
  my %command = (name => $name, text => [], groups => [], examples => [], notes => []);
  my $part = 'text';
  for (help($name)) {
    if (/^Usage: (.*)/) { $command{usage} = $1 }
    elsif (/^\w+ options:$/) { $part = 'options'; push @{$command{groups}}, [$_] }
    elsif ($_ eq 'Examples:') { $part = 'examples' }
    elsif ($part ne 'text' && $_ eq '') { $part = 'notes' }
    elsif ($part ne 'options') { push @{$command{$part}}, $_ }
    # The description begins in column 28, or in the next line.
    elsif (/^  --[\w-]/) {
      my $rest = length > 28 && substr($_, 27, 1) eq ' ' ? substr $_, 28, length, '' : '';
      my ($name, $meta) = /^  --([\w-]+)(?: (\S.*?))? *$/ or die "$program $command{name} --help: cannot read: $_\n";
      push @{$command{groups}[-1]}, [$name, $meta, $rest];
    } elsif (/^ +(.*)/) { push @{$command{groups}[-1][-1]}, $1 }
    else { die "$program $name --help: cannot read: $_\n" }
  }
  return \%command;
}

# "s3lect run --store X [OPTION]... -- COMMAND [ARG]..." as macros, one a line.
sub synopsis {
  my $text = '';
  for (@commands) {
    my (undef, $name, @words) = split / /, $_->{usage};
    $text .= ".Nm\n.Cm $name\n";
    for (@words) {
      my ($flag) = /^--([\w-]+)$/;
      my ($many) = /^\[(.*)\]\.\.\.$/;
      $text .= $flag ? ".Fl -$flag\n" : $_ eq '--' ? ".Fl -\n" : $many ? ".Op Ar $many ...\n" : ".Ar $_\n";
    }
  }
  return "$text.Nm\n.Fl -version\n";
}

sub commands {
  my $text = '';
  my $notes;
  for my $command (@commands) {
    $text .= ".Ss s3lect $command->{name}\n" . roff_text(@{$command->{text}});
    for (@{$command->{groups}}) {
      my ($title, @options) = @$_;
      $text .= ".Pp\n$title\n.Bl -tag -width indent\n";
      for (@options) {
        my ($option, $meta, @help) = @$_;
        $text .= '.It Fl -' . roff($option) . (defined $meta ? ' Ar "' . roff($meta) . '"' : '') . "\n";
        $text .= join '', map { roff($_) . "\n" } grep { $_ ne '' } @help;
      }
      $text .= ".El\n";
    }
    $text .= ".Pp\nExamples:\n" . roff_text(@{$command->{examples}});
    $notes = $command->{notes};
  }
  return ".Ss Options of all commands\n" . roff_text(@$notes) . $text;
}

# The help after its first line, "Usage: ...".
sub options {
  my (undef, @lines) = help();
  return roff_text(@lines);
}

@commands = map { read_command($_) } @commands;
my %made = @commands ? (synopsis => synopsis(), commands => commands()) : (help => options());

open my $in, '<', $page or die "$page: $!\n";
while (<$in>) {
  print /^\.\\" INSERT (\w+)/ ? delete $made{$1} // die "$page: what is $1?\n" : $_;
}
die "$page: no place for ", join(', ', keys %made), "\n" if %made;
