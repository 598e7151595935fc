# The first calls from Perl: perl coxswain.pl [SECONDS]

# One connection to the sidecar. Its leases are given back when it closes.
package Coxswain;
use strict;
use warnings;
use Data::MessagePack;    # apt-get install libdata-messagepack-perl, or cpan Data::MessagePack
use IO::Select;
use IO::Socket::UNIX;

sub new {
    my ($class, $client) = @_;
    my $path   = $ENV{COXSWAIN_SOCKET} // '/run/coxswain/sidecar.sock';
    my $socket = IO::Socket::UNIX->new(Peer => $path) or die "$path: $!\n";
    my $self   = bless { socket => $socket, got => '', msgid => 0, replies => {}, events => [] }, $class;
    $self->call('session.hello', client => $client);    # the name that is shown for its locks
    return $self;
}

sub call {
    my ($self, $method, %params) = @_;
    my $id = ++$self->{msgid};
    $self->{socket}->printflush(Data::MessagePack->pack([0, $id, $method, [\%params]])) or die "write: $!\n";
    $self->receive until $self->{replies}{$id};
    my ($error, $result) = @{ delete $self->{replies}{$id} };
    return $error ? die "$error->[1]\n" : $result;      # "CODE: message"
}

# Returns the next event, such as ('lock.lost', {...}), or nothing after so many seconds.
sub listen {
    my ($self, $seconds) = @_;
    $self->receive if !@{ $self->{events} } && IO::Select->new($self->{socket})->can_read($seconds);
    return @{ shift @{ $self->{events} } // [] };
}

sub receive {
    my $self = shift;
    $self->{socket}->sysread($self->{got}, 65536, length $self->{got}) or die "the sidecar closed the connection\n";
    while (length $self->{got}) {
        my $unpacker = Data::MessagePack::Unpacker->new;
        my $end      = $unpacker->execute($self->{got}, 0);
        last unless $unpacker->is_finished;    # the rest of the frame comes later
        substr($self->{got}, 0, $end) = '';
        my ($kind, $id, @rest) = @{ $unpacker->data };
        $kind == 1 ? ($self->{replies}{$id} = \@rest) : push @{ $self->{events} }, [$id, $rest[0][0]];
    }
}

$| = 1;
my $coxswain = Coxswain->new('example.pl');
my %limit    = (algorithm => 'token_bucket', limits => [{ limit => 3, period_ms => 5000 }]);
my $answer   = $coxswain->call('ratelimit.acquire', key => 'example.com', %limit);
print $answer->{allowed} ? "allowed, $answer->{remaining} left\n" : die "refused, again in $answer->{retry_after_ms} ms\n";
my $lock = $coxswain->call('lock.acquire', name => 'nightly');    # the resource that it protects should refuse a lower fence
print $lock->{acquired} ? "locked, fence $lock->{fence}\n" : die "busy, held by $lock->{held_by}{client}\n";
for (1 .. shift // 3) {
    my ($method, $lost) = $coxswain->listen(1);    # stands for a second of work
    die "lost: $lost->{reason}\n" if $method && $method eq 'lock.lost' && $lost->{token} eq $lock->{token};
}
print 'released ', $coxswain->call('lock.release', name => 'nightly', token => $lock->{token})->{released}, "\n";
