<?php // The first calls from PHP: php coxswain.php [SECONDS]; it needs apt-get install php-cli php-msgpack, or pecl install msgpack

// One connection to the sidecar. Its leases are given back when it is closed in this process and in all programs that this process
// has started, which inherit the socket from PHP. If they outlive it they keep the lock held, unless it is acquired with bind => ttl.
class Coxswain
{
    private $socket, $unpacker, $msgid = 0, $replies = [], $events = [];

    public function __construct(string $client, ?string $path = null)
    {
        $path ??= getenv('COXSWAIN_SOCKET') ?: '/run/coxswain/sidecar.sock';
        $this->socket = stream_socket_client("unix://$path", $_, $error) or throw new RuntimeException("$path: $error");
        $this->unpacker = new MessagePackUnpacker(false);
        $this->call('session.hello', ['client' => $client]); // the name that is shown for its locks
    }

    public function call(string $method, array $params = []): array
    {
        fwrite($this->socket, msgpack_pack([0, $id = ++$this->msgid, $method, [$params]]));
        while (!isset($this->replies[$id])) $this->read();
        [$error, $result] = $this->replies[$id];
        unset($this->replies[$id]);
        return $error ? throw new RuntimeException($error[1]) : $result; // "CODE: message"
    }

    /** Returns the next event, such as ['lock.lost', [...]], or null after so many seconds. */
    public function listen(int $seconds): ?array
    {
        [$read, $none] = [[$this->socket], []];
        if (!$this->events && stream_select($read, $none, $none, $seconds)) $this->read();
        return array_shift($this->events);
    }

    private function read(): void
    {
        $data = fread($this->socket, 65536);
        if (!$data && feof($this->socket)) throw new RuntimeException('the sidecar closed the connection');
        for ($this->unpacker->feed($data); $this->unpacker->execute(); $this->unpacker->reset()) {
            [$kind, $id, $rest] = $frame = $this->unpacker->data();
            if ($kind === 1) $this->replies[$id] = [$rest, $frame[3]];
            else $this->events[] = [$id, $rest[0]];
        }
    }
}

if (realpath($argv[0]) === __FILE__) {
    $coxswain = new Coxswain('example.php');
    $limit = ['key' => 'example.com', 'algorithm' => 'token_bucket', 'limits' => [['limit' => 3, 'period_ms' => 5000]]];
    $answer = $coxswain->call('ratelimit.acquire', $limit);
    $answer['allowed'] or throw new RuntimeException("refused, again in $answer[retry_after_ms] ms");
    echo "allowed, $answer[remaining] left\n";
    $lock = $coxswain->call('lock.acquire', ['name' => 'nightly']);
    $lock['acquired'] or throw new RuntimeException("busy, held by {$lock['held_by']['client']}");
    echo "locked, fence $lock[fence]\n"; // the resource that the lock protects should refuse a lower one
    for ($left = $argv[1] ?? 3; $left > 0; $left--) {
        [$method, $lost] = $coxswain->listen(1); // stands for a second of work
        if ($method === 'lock.lost' && $lost['token'] === $lock['token']) throw new RuntimeException("lost: $lost[reason]");
    }
    echo 'released ', json_encode($coxswain->call('lock.release', ['name' => 'nightly', 'token' => $lock['token']])['released']), "\n";
}
