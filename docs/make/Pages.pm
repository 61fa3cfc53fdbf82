# What the scripts of docs/make share: paragraphs, and their form in mdoc(7).
package Pages;
use strict;
use warnings;
use Exporter 'import';
our @EXPORT = qw(paragraphs roff roff_literal roff_text);

# "-o FILE" before all other arguments names the file to print into.
if (@ARGV && $ARGV[0] eq '-o') {
  my (undef, $out) = splice @ARGV, 0, 2;
  open STDOUT, '>', $out or die "$out: $!\n";
}

# Paragraphs of plain text: [kind, lines]. Indented lines are a table, to be left as it is.
sub paragraphs {
  my @found;
  for my $line (@_) {
    my $kind = $line =~ /^  / ? 'table' : $line eq '' ? 'gap' : 'prose';
    push @found, [$kind] if !@found || $found[-1][0] ne $kind;
    push @{$found[-1]}, $line;
  }
  return grep { $_->[0] ne 'gap' } @found;
}

sub roff {
  my ($text) = @_;
  $text =~ s/\\/\\e/g;
  $text =~ s/-/\\-/g;
  $text =~ s/^([.'])/\\&$1/;
  return $text;
}

sub roff_literal {
  return join '', ".Bd -literal -offset indent\n", (map { roff($_) . "\n" } @_), ".Ed\n";
}

sub roff_text {
  my $page = '';
  for my $paragraph (paragraphs(@_)) {
    my ($kind, @lines) = @$paragraph;
    if ($kind eq 'table') {
      my ($margin) = sort { $a <=> $b } map { /^( *)/; length $1 } @lines;
      $page .= roff_literal(map { substr $_, $margin } @lines);
    } else {
      $page .= join '', $page eq '' ? '' : ".Pp\n", map { roff($_) . "\n" } @lines;
    }
  }
  return $page;
}

1;
