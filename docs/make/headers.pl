#!/usr/bin/perl
# Reads the public headers, and prints
#   headers.pl list FILE...   what they declare, a line each: "function NAME FILE:LINE documented" (or
#                             "bare" without a doc comment above it), "struct NAME", "field NAME FIELD",
#                             "value NAME" (enumerators and numbers)
#   headers.pl api FILE...    api.md
#   headers.pl man FILE...    s3lect.3
# FILE is a path that ends in s3lect.h or s3lect/NAME.h. pages.cmake calls it.
#
# A header is a head comment and blocks, divided by blank lines: a comment and the declarations that
# it describes, or one of the two.
use strict;
use warnings;
use lib __FILE__ =~ m{^(.*)/} ? $1 : '.';
use Pages;

my ($what, @files) = @ARGV;
die "usage: headers.pl list|api|man FILE...\n" unless @files && $what =~ /^(list|api|man)$/;

# The lines of a comment, without its marks.
sub comment_text {
  my $text = join "\n", @_;
  $text =~ s{^\s*/\*\*? ?}{};
  $text =~ s{\s*\*/\s*$}{};
  $text =~ s{^ \*(?: |$)}{}mg;
  return split /\n/, $text;
}

sub without_comments {
  my ($text) = @_;
  $text =~ s{/\*.*?\*/}{ }gs;
  return $text;
}

# A block: line number, comment (lines), documented (the comment begins with /**), code (lines).
sub make_block {
  my ($line, @lines) = @_;
  my %block = (line => $line, comment => [], documented => 0, code => []);
  if ($lines[0] =~ m{^/\*}) {
    my @comment;
    while (@lines) {
      push @comment, shift @lines;
      last if $comment[-1] =~ m{\*/};
    }
    $block{documented} = $comment[0] =~ m{^/\*\*};
    $block{comment} = [comment_text(@comment)];
  }
  $block{code} = [@lines];
  return \%block;
}

sub read_header {
  my ($path) = @_;
  open my $file, '<', $path or die "$path: $!\n";
  my @lines = <$file>;
  close $file;
  chomp @lines;
  my ($name) = $path =~ m{(s3lect(?:/\w+)?\.h)$} or die "$path: not a header of s3lect\n";
  my %header = (name => $name, path => $path, blocks => []);
  my (@block, $start, $depth, $in_comment, $guarded) = ();
  for my $number (1 .. @lines + 1) {
    my $line = $number <= @lines ? $lines[$number - 1] : '';
    if (!$in_comment && !$depth) {
      # The frame around what is declared: guards, includes, extern "C".
      next if $line =~ /^#(ifndef|endif|include|ifdef)/ || $line =~ /^extern "C"|^\}$/;
      next if $line =~ /^#define \w+_H$/;
      if ($line eq '' && !(@block && $block[-1] =~ /\\$/)) {
        push @{$header{blocks}}, make_block($start, @block) if @block;
        @block = ();
        next;
      }
    }
    $start = $number unless @block;
    push @block, $line;
    my $rest = $line;
    while ($rest =~ m{(/\*|\*/|[{}])}g) {
      if ($1 eq '/*') { $in_comment = 1 }
      elsif ($1 eq '*/') { $in_comment = 0 }
      elsif (!$in_comment) { $depth += $1 eq '{' ? 1 : -1 }
    }
  }
  $header{head} = (shift @{$header{blocks}})->{comment};
  $header{head}[0] =~ s/^\Q$name\E: (.)/\U$1/;
  return \%header;
}

my %typedef; # struct tag -> the type's name
sub find_names {
  my ($block) = @_;
  my $code = without_comments(join "\n", @{$block->{code}});
  my $is_map = $code =~ /\\$/m; # a table of XX(...) rows: its definition only
  $block->{functions} = [$code =~ /S3LECT_EXTERN[^;(]*?\b(s3lect_\w+)\s*\(/g];
  $block->{macros} = [$code =~ /^#\s*define (S3LECT_\w+)/mg];
  my @types = $code =~ /^typedef [^;{]*\(\*(s3lect_\w+)\)/mg;
  $typedef{$1} = $2 while $code =~ /^typedef struct (\w+) (\w+);/mg;
  push @types, $1 while $code =~ /^\}\s*(s3lect_\w+);/mg;
  push @types, $typedef{$1} // $1 while $code =~ /^struct (\w+) \{/mg;
  $block->{types} = \@types;
  $block->{names} = [@{$block->{functions}}, @types, @{$block->{macros}}];
  $block->{structs} = [];
  my @values = map { /\b(S3LECT_\w+)\s*=/g } $code =~ /^typedef enum \{(.*?)^\}/msg;
  push @values, $code =~ /^#\s*define (S3LECT_\w+)\s+(?:\\\n\s*)?(?:0x)?[0-9a-fA-F]+u?\s*$/mg;
  push @values, map { "S3LECT_$_" } $code =~ /XX\((E\w+),/g;
  $block->{values} = [grep { !/^S3LECT_VERSION_|_END$/ } @values];
  return if $is_map;
  while ($code =~ /(?:^typedef struct \w* ?|^struct (\w+) )\{(.*?)^\}\s*(\w*);/msg) {
    my ($tag, $body, $name) = ($1, $2, $3);
    my @fields;
    for my $member (split /;/, $body) {
      $member =~ s/\[[^\]]*\]//g;
      push @fields, $1 if $member =~ /\(\*(\w+)\)/ || $member =~ /(\w+)\s*$/;
    }
    push @{$block->{structs}}, {name => $name ne '' ? $name : $typedef{$tag} // "struct $tag",
                                fields => \@fields};
  }
}

my @headers = map { read_header($_) } @files;
for my $header (@headers) {
  find_names($_) for @{$header->{blocks}};
}

# As a reader writes them, without the mark of what is exported.
sub declarations {
  my ($block) = @_;
  my $text = join "\n", @{$block->{code}};
  $text =~ s/S3LECT_EXTERN\s+([^;]*)/$1 =~ s{\n {14}}{\n}gr/ge;
  return $text;
}

# --- list -----------------------------------------------------------------------------------------

sub print_list {
  for my $header (@headers) {
    for my $block (@{$header->{blocks}}) {
      my $told = $block->{documented} ? 'documented' : 'bare';
      print "function $_ $header->{path}:$block->{line} $told\n" for @{$block->{functions}};
      print "value $_\n" for @{$block->{values}};
      for my $struct (@{$block->{structs}}) {
        print "struct $struct->{name}\n";
        print "field $struct->{name} $_\n" for @{$struct->{fields}};
      }
    }
  }
}

# --- api.md ---------------------------------------------------------------------------------------

sub md {
  my ($text) = @_;
  $text =~ s/([*<>|\[\]])/\\$1/g;
  return $text;
}

sub md_comment {
  for my $paragraph (paragraphs(@_)) {
    my ($kind, @lines) = @$paragraph;
    print $kind eq 'table' ? join("\n", '```text', @lines, '```') : join("\n", map { md($_) } @lines);
    print "\n\n";
  }
}

sub print_api {
  print "# API\n\n",
    "<!-- The build makes this page from include/: edit the headers. -->\n\n",
    "What the headers say, on one page. `#include <s3lect.h>` includes them all. Where to begin:\n",
    "[guide.md](guide.md); threads, loops and linking: [embedding.md](embedding.md); what an error\n",
    "wants of you: [errors.md](errors.md).\n\n";
  for my $header (@headers) {
    (my $anchor = $header->{name}) =~ s{[./]}{}g;
    my @names = map { @{$_->{functions}} } @{$header->{blocks}};
    print "- [$header->{name}](#$anchor)", (@names ? ": " . join(', ', map { "`$_`" } @names) : ''), "\n";
  }
  for my $header (@headers) {
    print "\n## $header->{name}\n\n";
    md_comment(@{$header->{head}});
    for my $block (@{$header->{blocks}}) {
      next if !@{$block->{names}};
      print '### ', join(', ', map { "`$_`" } @{$block->{names}}), "\n\n";
      md_comment(@{$block->{comment}});
      print join("\n", '```c', declarations($block), '```'), "\n\n";
    }
  }
}

# --- s3lect.3 -------------------------------------------------------------------------------------

sub print_man {
  my @all = map { @{$_->{functions}} } map { @{$_->{blocks}} } @headers;
  print <<'END';
.\" The build makes this page from include/: edit the headers.
.Dd November 21, 2026
.Dt S3LECT 3
.Os
.Sh NAME
.Nm s3lect
.Nd leader election on an object store, for programs that run a libuv loop
.Sh SYNOPSIS
.In s3lect.h
.Pp
.Dl cc program.c $(pkg\-config \-\-cflags \-\-libs s3lect)
.Sh DESCRIPTION
END
  for my $header (@headers) {
    print ".Ss $header->{name}\n";
    print roff_text(@{$header->{head}});
    for my $block (@{$header->{blocks}}) {
      next if !@{$block->{names}};
      print ".Pp\n";
      print roff_literal(declarations($block));
      print ".Pp\n" if @{$block->{comment}};
      print roff_text(@{$block->{comment}});
    }
  }
  print ".Sh SEE ALSO\n.Xr s3lect 1\n";
}

{ list => \&print_list, api => \&print_api, man => \&print_man }->{$what}->();
