# Calls a sidecar with Data::MessagePack, which writes the old raw family and does not support bin.

use strict;
use warnings;
use Data::MessagePack;
use Fcntl;
use IO::Socket::UNIX;

my $socket = IO::Socket::UNIX->new(Peer => $ENV{COXSWAIN_SOCKET}) or die "connect: $!";
my $mp     = Data::MessagePack->new;
my $msgid  = 0;

sub call {
    my ($method, @params) = @_;
    $socket->syswrite($mp->pack([0, ++$msgid, $method, \@params]));
    my ($got, $reply) = ('');
    until (eval { $reply = $mp->unpack($got); 1 }) {    # it dies while some is missing
        $socket->sysread($got, 65536, length $got) or die "the sidecar closed the connection";
    }
    my (undef, $id, $error, $result) = @$reply;
    die "reply to $id" unless $id == $msgid;
    return $error ? $error->[1] : $result;
}

sub check {
    my ($name, $right, $got) = @_;
    print $right ? "ok $name\n" : "not ok $name: " . ($got // 'nothing') . "\n";
}

my $r = call('session.ping', {});
check('ping', $r->{now_at_ms} > 1.5e12, $r->{now_at_ms});
# A child with the socket would keep the program's locks after the program's end.
check('a child does not keep the connection open', fcntl($socket, F_GETFD, 0) & FD_CLOEXEC);
my %limit = (key => 'perl', algorithm => 'token_bucket', limits => [{ limit => 1, period_ms => 3600000 }]);
check('the first is allowed', call('ratelimit.acquire', \%limit)->{allowed});
$r = call('ratelimit.acquire', \%limit);
check('the second is refused', !$r->{allowed} && $r->{retry_after_ms} > 0, $r->{retry_after_ms});
$r = call('lock.acquire', { name => 'perl' });
check('a lock is taken', $r->{acquired} && $r->{fence} > 0, $r->{reason});
$r = call('lock.aquire', { name => 'perl' });
check('the nearest method is told', $r =~ /^METHOD_NOT_FOUND: .*lock\.acquire/, $r);
