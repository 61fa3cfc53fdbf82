#!/usr/bin/env perl
# Draws docs/pictures/overview.svg: overview.pl OPTIONS_C
#
# Three processes and a bucket on a time line: the leader crashes, and another process takes over. The
# intervals are the defaults of the elector, read from src/elector/options.c.
use strict;
use warnings;

my %default;
while (<>) {
    $default{$1} = $2 if /^#define DEFAULT_(\w+)\s+(\d+)/;
}
my ($timeout, $renew, $read) = map { ($default{$_} // die "no default of $_\n") / 1000 }
    qw(LEADER_TIMEOUT_MS FREQUENT_MS INFREQUENT_MS);
my $drift = $default{DRIFT_PPM} / 1e6;

# The story, in seconds. B reads the last renewal first, so B may be the first to take over.
my %reads_from = (B => 1.5, C => 3.5);
my $first_renewal = 0.6;
my $last_renewal = $first_renewal + 2 * $renew;
my $crash = $last_renewal + 2;
my $lease_end = $last_renewal + $timeout * (1 - $drift);
my $seen = first_read_after('B', $last_renewal);
my $takeover = $seen + $timeout * (1 + $drift);
my $end = $takeover + 2 * $renew;

sub first_read_after {
    my ($who, $time) = @_;
    my $at = $reads_from{$who};
    $at += $read while $at < $time;
    return $at;
}

# Where things are drawn.
my ($width, $height, $left, $right) = (900, 346, 112, 884);
my ($bar, $bucket_height) = (34, 44);
my %top = (A => 56, bucket => 138, B => 228, C => 282);
my ($green, $amber, $grey, $red, $ink) = ('#2e7d4f', '#f0c36d', '#dfe4ea', '#b3261e', '#1f2937');
my @out;

sub x { return $left + ($right - $left) * $_[0] / $end }

sub put { push @out, sprintf shift, @_ }

sub text {
    my ($x, $y, $text, $more) = @_;
    put('<text x="%.1f" y="%.1f"%s>%s</text>', $x, $y, $more ? " $more" : '', $text);
}

sub box { # FROM TO TOP HEIGHT FILL [MORE]
    my ($from, $to, $top, $height, $fill, $more) = @_;
    put('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="4" fill="%s"%s/>', x($from), $top,
        x($to) - x($from), $height, $fill, $more ? " $more" : '');
}

sub arrow { # TIME FROM_Y TO_Y COLOUR
    my ($time, $from, $to, $colour) = @_;
    my ($x, $back) = (x($time), $to > $from ? -7 : 7);
    put('<path d="M%.1f %.1f V%.1f" stroke="%s" stroke-width="1.6"/>', $x, $from, $to + $back, $colour);
    put('<path d="M%.1f %.1f l-4 %d h8 z" fill="%s"/>', $x, $to, $back, $colour);
}

sub writes { # WHO FROM TO: its renewals
    my ($who, $from, $to) = @_;
    my $below = $top{$who} > $top{bucket};
    for (my $at = $from; $at < $to; $at += $renew) {
        arrow($at, $below ? $top{$who} : $top{$who} + $bar,
            $below ? $top{bucket} + $bucket_height : $top{bucket}, $green);
    }
}

sub reads { # WHO TO: until then it reads the bucket
    my ($who, $to) = @_;
    for (my $at = $reads_from{$who}; $at < $to; $at += $read) {
        put('<path d="M%.1f %d V%d" stroke="#8592a3" stroke-dasharray="3 3"/>', x($at),
            $top{bucket} + $bucket_height, $top{$who});
    }
}

# The lanes. The reads of C pass behind the lane of B.
reads('C', $end);
reads('B', $takeover);
for my $who (qw(A B C)) {
    text(16, $top{$who} + 22, "process $who", 'font-weight="bold"');
    box(0, $end, $top{$who}, $bar, $grey);
}
text(16, $top{bucket} + 20, 'bucket', 'font-weight="bold"');
text(16, $top{bucket} + 36, 'one object', 'class="small"');
put('<path d="M78 %d l4 24 h16 l4 -24 z" fill="#e3edfb" stroke="#5b7db1" stroke-width="2"/>', $top{bucket} + 10);

# The first leader, and its end.
box(0, $crash, $top{A}, $bar, $green);
text(x(0) + 10, $top{A} + 22, 'leads, epoch 7', 'class="on"');
box($crash, $lease_end, $top{A}, $bar, '#cfe6d8', qq(stroke="$green" stroke-dasharray="4 3"));
text((x($crash) + x($lease_end)) / 2, $top{A} + 22, 'its lease still runs', 'text-anchor="middle"');
put('<path d="M%.1f %.1f l16 16 m0 -16 l-16 16" stroke="%s" stroke-width="4"/>', x($crash) - 8,
    $top{A} + $bar / 2 - 8, $red);
text(x($crash), $top{A} - 8, 'crash', 'text-anchor="middle" class="crash"');
text(x($lease_end), $top{A} - 8, 'end of the lease', 'text-anchor="middle" class="small"');

# The bucket: who leads, according to the object.
box(0, $takeover, $top{bucket}, $bucket_height, '#e3edfb', 'stroke="#5b7db1"');
box($takeover, $end, $top{bucket}, $bucket_height, '#e3edfb', 'stroke="#5b7db1"');
text(x(0) + 10, $top{bucket} + 27, 'leader A, epoch 7');
text(x($takeover) + 10, $top{bucket} + 27, 'leader B, epoch 8');

# The followers.
text(x(0) + 10, $top{$_} + 22, 'follows A') for qw(B C);
box($seen, $takeover, $top{B}, $bar, $amber);
text((x($seen) + x($takeover)) / 2, $top{B} + 22, "sees no renewal for $timeout s, by its own clock",
    'text-anchor="middle"');
box($takeover, $end, $top{B}, $bar, $green);
text(x($takeover) + 10, $top{B} + 22, 'leads, epoch 8', 'class="on"');
text(x(first_read_after('C', $takeover)) + 8, $top{C} + 22, 'follows B');
writes('A', $first_renewal, $crash);
writes('B', $takeover, $end);

# How long nobody leads.
put('<path d="M%.1f %d v12 m0 -6 H%.1f m0 -6 v12" stroke="%s"/>', x($crash), $top{A} + $bar + 16, x($takeover), $ink);
text((x($crash) + x($takeover)) / 2, $top{A} + $bar + 40, sprintf('%.0f s without a leader', $takeover - $crash),
    'text-anchor="middle"');

# The legend, and the time line.
text(16, 20, 'Green arrow: conditional write (PUT with If-Match). Dashed line: read (GET). '
    . 'The intervals are the defaults.', 'class="small"');
for (my $second = 0; $second <= $end; $second += 5) {
    text(x($second), $height - 10, "$second s", 'text-anchor="middle" class="small"');
}

print <<"SVG";
<svg xmlns="http://www.w3.org/2000/svg" width="$width" height="$height" viewBox="0 0 $width $height" font-family="sans-serif" font-size="13" fill="none">
<style>text{fill:$ink}.small{font-size:11px;fill:#56657a}.on{fill:white;font-weight:bold}.crash{fill:$red;font-weight:bold}</style>
<rect width="$width" height="$height" fill="white"/>
SVG
print "$_\n" for @out;
print "</svg>\n";
