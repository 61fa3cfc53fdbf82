# The part of AWS STS that a pod with a web identity needs: AssumeRoleWithWebIdentity.
#
#   perl sts.pl ROLE KEY SECRET TOKEN
#
# Prints its URL, then answers a request for ROLE with a token "token of POD" with these keys, and
# prints "POD assumed the role"; any other request gets AccessDenied and is printed whole.
use strict;
use warnings;
use IO::Socket::INET;

my ($role, $key, $secret, $session) = @ARGV;
my $server = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 16) or die "sts: $@\n";
$| = 1;
$SIG{PIPE} = 'IGNORE';
print 'http://127.0.0.1:', $server->sockport, "\n";

sub unescaped {
  my ($text) = @_;
  $text =~ tr/+/ /;
  $text =~ s/%([0-9A-Fa-f]{2})/chr hex $1/ge;
  return $text;
}

# The request line, and the parameters of query and body.
sub read_request {
  my ($client) = @_;
  my ($line, $length, $body) = (scalar <$client> // '', 0, '');
  while (defined(my $header = <$client>)) {
    last if $header =~ /^\r?\n$/;
    $length = $1 if $header =~ /^content-length:\s*([0-9]+)/i;
  }
  read $client, $body, $length if $length > 0;
  my ($query) = $line =~ /\?(\S*)/;
  my %parameters = map { map { unescaped($_) } /^([^=]*)=(.*)$/ } grep { length } split /&/, ($query // '') . "&$body";
  return ($line, %parameters);
}

while (my $client = $server->accept) {
  my ($line, %is) = read_request($client);
  my ($pod) = ($is{WebIdentityToken} // '') =~ /^token of (\S+)$/;
  my ($status, $reply);
  if (($is{Action} // '') eq 'AssumeRoleWithWebIdentity' && ($is{RoleArn} // '') eq $role && defined $pod) {
    $status = '200 OK';
    my @end = gmtime(time + 3600);
    my $end = sprintf '%04d-%02d-%02dT%02d:%02d:%02dZ', $end[5] + 1900, $end[4] + 1, @end[3, 2, 1, 0];
    $reply = '<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>'
      . "<AccessKeyId>$key</AccessKeyId><SecretAccessKey>$secret</SecretAccessKey>"
      . "<SessionToken>$session</SessionToken><Expiration>$end</Expiration></Credentials>"
      . '</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>';
    print "$pod assumed the role\n";
  } else {
    $status = '403 Forbidden';
    $reply = '<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>';
    print "refused: $line", map { "  $_=$is{$_}\n" } sort keys %is;
  }
  print $client "HTTP/1.1 $status\r\nContent-Type: text/xml\r\nContent-Length: ", length $reply,
    "\r\nConnection: close\r\n\r\n$reply";
  close $client;
}
