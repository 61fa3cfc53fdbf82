#!/usr/bin/env perl
# Draws docs/pictures/architecture.svg: architecture.pl LAYERS_CMAKE
#
# The layers come from the list that lint-layers checks, so the picture cannot show another ladder.
# The numbers are the way of one renewal: from the deadline to the socket, and back with the reply.
use strict;
use warnings;

my %what = (
    cli         => 'the s3lect command',
    elector     => 'public API, options, executor of the core\'s effects',
    verify      => 'the checks of a store, a table of steps',
    inspect     => 'elections as a store shows them',
    peer        => 'health client and server',
    store       => 'S3, directory, memory',
    credentials => 'providers, chain, cache',
    http        => 'client with pool and proxy, server',
    net         => 'dial, listen, stream, DNS, TLS',
    loop        => 'defer, deadlines, clocks, one uv_timer_t',
    wire        => 'HTTP/1.1, SigV4, S3 messages',
    core        => 'the election: lockfile.c, epoch_files.c',
    util        => 'spans, buffers, JSON, XML, times',
);

# The steps of a renewal: the layer, and what happens there.
my @steps = (
    [loop        => 'The deadline that the core asked for is due.'],
    [core        => 'step(now, tick): the effect is WRITE, if the ETag still matches.'],
    [elector     => 'The executor fills the store request: body, ETag, absolute deadline.'],
    [store       => 'The S3 store takes a request from its pool of requests.'],
    [credentials => 'The cache has keys that are valid; otherwise the request waits.'],
    [wire        => 'PUT with If-Match, signed with SigV4.'],
    [http        => 'A warm connection from the pool takes the request.'],
    [net         => 'The bytes go to the socket, through TLS; the reply comes back.'],
    [wire        => 'The parser finds status, ETag and Date.'],
    [store       => 'One result: outcome, ETag, store time.'],
    [core        => 'step(now, result): validity is the time of sending + T.'],
    [elector     => 'The executor publishes the validity and calls on_renewed.'],
);

my (@folders, %rung);
while (<>) {
    @folders = split ' ', $1 if /^set\(FOLDERS ([^)]*)\)/;
    $rung{$1} = $2 if /^set\(RUNG_(\w+) (\d+)\)/;
}
die "no layers found\n" unless @folders;
my ($top) = sort { $b <=> $a } values %rung;

my ($row, $left, $width) = (58, 20, 470);
my %box;
my $height = 60 + ($top + 1) * $row + 60;
my @out;
for my $rung (0 .. $top) {
    my @here = grep { $rung{$_} == $rung } @folders;
    my $w = ($width - 10 * ($#here)) / @here;
    my $x = $left;
    for my $folder (@here) {
        die "architecture.pl: say what src/$folder is\n" unless defined $what{$folder};
        my $y = 50 + ($top - $rung) * $row;
        $box{$folder} = [$x, $y, $w];
        my $fill = $folder eq 'core' ? '#fff3d6' : $folder =~ /^(loop|net)$/ ? '#dcefe4' : '#eef2f8';
        push @out, sprintf '<rect x="%d" y="%d" width="%d" height="%d" rx="4" fill="%s" stroke="#56657a"/>',
            $x, $y, $w, $row - 10, $fill;
        push @out, sprintf '<text x="%d" y="%d" font-weight="bold">src/%s</text>', $x + 8, $y + 19, $folder;
        push @out, sprintf '<text x="%d" y="%d" font-size="11">%s</text>', $x + 8, $y + 37, $what{$folder};
        $x += $w + 10;
    }
}

my %badges;
for my $n (1 .. @steps) {
    my ($folder, $text) = @{$steps[$n - 1]};
    my ($x, $y, $w) = @{$box{$folder}};
    badge($x + $w - 18 - 26 * $badges{$folder}++, $y + 16, $n);
    my $line = 62 + 44 * ($n - 1);
    badge(530, $line, $n);
    push @out, sprintf '<text x="552" y="%d"><tspan font-weight="bold">%s</tspan>  %s</text>', $line + 5, $folder, $text;
}

sub badge {
    my ($x, $y, $n) = @_;
    push @out, sprintf '<circle cx="%d" cy="%d" r="11" fill="#1d4f91"/>', $x, $y;
    push @out, sprintf '<text x="%d" y="%d" text-anchor="middle" font-size="11" fill="white">%d</text>', $x, $y + 4, $n;
}

print <<"SVG";
<svg xmlns="http://www.w3.org/2000/svg" width="1080" height="$height" viewBox="0 0 1080 $height" font-family="sans-serif" font-size="13">
<rect width="1080" height="$height" fill="white"/>
<text x="20" y="30" font-size="15" font-weight="bold">Layers: a file includes only what is below</text>
<text x="520" y="30" font-size="15" font-weight="bold">The way of one renewal</text>
SVG
print "$_\n" for @out;
my $y = $height - 42;
print <<"SVG";
<rect x="20" y="$y" width="14" height="14" fill="#fff3d6" stroke="#56657a"/>
SVG
printf '<text x="42" y="%d">seam 1: the core is data in, data out (seam 3, the protocol table, is inside it)</text>' . "\n", $y + 12;
printf '<rect x="20" y="%d" width="14" height="14" fill="#dcefe4" stroke="#56657a"/>' . "\n", $y + 20;
printf '<text x="42" y="%d">seam 2: only these call libuv; a simulation replaces them at link time</text>' . "\n", $y + 32;
print "</svg>\n";
