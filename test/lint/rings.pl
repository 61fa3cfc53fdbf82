#!/usr/bin/env perl
# The ring check: rings.pl SRC OBJECTS
#
# The modules of src/ form no ring: neither by #include nor by use of each other's symbols. A module
# is a pair of NAME.c and NAME.h. SRC is the folder of the sources; OBJECTS is CMake's folder with
# the object files that were compiled from them. Prints each ring, and fails if there
# is one.
use strict;
use warnings;
use File::Find;

my ($src, $objects) = @ARGV;
die "usage: rings.pl SRC OBJECTS\n" unless defined $objects && -d $src && -d $objects;

my (%include, %use, %defined_in, %needs);

sub read_source {
    my ($file, $module) = @_;
    open my $in, '<', $file or die "$file: $!\n";
    while (<$in>) {
        next unless /^\s*#\s*include\s+"([^"]+)\.h"/;
        my $other = $1;
        my ($folder) = $module =~ m{^(.*/)};
        $other = "$folder$other" unless -e "$src/$other.h"; # src/cli includes from its own folder
        $include{$module}{$other} = 1 if $other ne $module && -e "$src/$other.h";
    }
}

sub read_object {
    my ($file, $module) = @_;
    open my $in, '-|', 'nm', '-P', '-g', $file or die "nm: $!\n";
    while (<$in>) {
        my ($symbol, $type) = split ' ';
        if ($type eq 'U') {
            $needs{$module}{$symbol} = 1;
        } else {
            $defined_in{$symbol} = $module;
        }
    }
    close $in or die "nm $file failed\n";
}

find({no_chdir => 1, wanted => sub {
    read_source($_, $1) if m{^\Q$src\E/(.*)\.[ch]$};
}}, $src);
find({no_chdir => 1, wanted => sub {
    read_object($_, $1) if m{/s3lect_(?:objects|cli_parts)\.dir/(.*)\.c\.o$} && -e "$src/$1.c";
}}, $objects);
die "no objects under $objects\n" unless %defined_in;
for my $module (keys %needs) {
    for my $symbol (keys %{$needs{$module}}) {
        my $other = $defined_in{$symbol};
        $use{$module}{$other} = 1 if defined $other && $other ne $module;
    }
}

# Tarjan's strongly connected components; one of more than one module holds a ring.
sub rings {
    my ($edges) = @_;
    my (%index, %low, %on_stack, @stack, @rings);
    my $next = 0;
    my $visit;
    $visit = sub {
        my ($module) = @_;
        $index{$module} = $low{$module} = $next++;
        push @stack, $module;
        $on_stack{$module} = 1;
        for my $other (sort keys %{$edges->{$module} // {}}) {
            if (!defined $index{$other}) {
                $visit->($other);
                $low{$module} = $low{$other} if $low{$other} < $low{$module};
            } elsif ($on_stack{$other} && $index{$other} < $low{$module}) {
                $low{$module} = $index{$other};
            }
        }
        return if $low{$module} != $index{$module};
        my @ring;
        do {
            push @ring, pop @stack;
            delete $on_stack{$ring[-1]};
        } until $ring[-1] eq $module;
        push @rings, [sort @ring] if @ring > 1;
    };
    $visit->($_) for grep { !defined $index{$_} } sort keys %$edges;
    return @rings;
}

my $wrong = 0;
for (['#include', \%include], ['use of symbols', \%use]) {
    my ($how, $edges) = @$_;
    for my $ring (rings($edges)) {
        my %inside = map { $_ => 1 } @$ring;
        $wrong++;
        print "a ring by $how: @$ring\n";
        for my $module (@$ring) {
            my @others = grep { $inside{$_} } sort keys %{$edges->{$module}};
            print "  $module -> @others\n";
        }
    }
}
print scalar(keys %use), " modules\n";
exit($wrong > 0 ? 1 : 0);
