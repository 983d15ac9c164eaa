# Stands in for ssh and an agent behind it: speaks the protocol, and has ranks that end at once. Perl, because a thousand
# interpreters of Python would take longer than what is measured.
use strict;

sub say_frame { my ($json) = @_; syswrite(STDOUT, pack("N", length $json) . $json); }

sub read_bytes {
    my ($wanted) = @_;
    my $data = "";
    while (length $data < $wanted) { sysread(STDIN, $data, $wanted - length $data, length $data) or exit 0; }
    return $data;
}

sub read_frame { return read_bytes(unpack("N", read_bytes(4))); }

read_frame();    # the environment
syswrite(STDOUT, "\0opsdist agent\0");
my ($number) = $ARGV[-2] =~ /(\d+)/;
my $address = join(".", 10, $number >> 8, $number & 255, 1);
say_frame($ENV{STUB_HELLO} =~ s/ADDRESS/$address/r);
my @ranks;
while (1) {
    my $frame = read_frame();
    my ($type) = $frame =~ /"type":"(\w+)"/;
    if ($type eq "listen") { say_frame('{"type":"listening","port":1}'); }
    elsif ($type eq "knock") { say_frame('{"type":"knocked","why":null}'); }
    elsif ($type eq "job") {
        @ranks = $frame =~ /"rank":(\d+)/g;
        say_frame(qq({"type":"started","rank":$_,"pid":999999})) for @ranks;
        say_frame('{"type":"serving","store":"tcp://192.0.2.1:1"}') if $frame !~ /"store":null/;
    }
    elsif ($type eq "go") {
        for (@ranks) {
            say_frame(qq({"type":"rank","rank":$_,"content":{"type":"finished"}}));
            say_frame(qq({"type":"exit","rank":$_,"code":0,"signal":null,"stopped":false}));
        }
        say_frame('{"type":"ended"}');
        exit 0;
    }
}
