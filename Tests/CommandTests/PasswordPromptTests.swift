import Foundation
import TestSupport
import Testing

/// Commands that ask a terminal for a password.
@Suite(.ownThread, .enabled(if: Command(installed: "python3") != nil, "python3 makes the terminal"))
struct PasswordPromptTests {
  /// Runs a command in a terminal, types when it asks and hides, and prints the exit status (negative for a signal),
  /// whether the terminal shows again what is typed, and what it showed.
  private static let terminal = """
    import os, pty, select, subprocess, sys, termios, time
    typed, command = sys.argv[1].encode(), sys.argv[2:]
    terminal, other = pty.openpty()
    hides = lambda: not termios.tcgetattr(other)[3] & termios.ECHO
    child = subprocess.Popen(command, stdin=other, stdout=other, stderr=other, start_new_session=True,
        preexec_fn=lambda: os.close(os.open(os.ttyname(0), os.O_RDWR)))
    output, end = b"", time.monotonic() + 60
    goes_on = lambda: child.poll() is None and time.monotonic() < end
    while b"Password for anna: " not in output and goes_on():
        if select.select([terminal], [], [], 0.1)[0]:
            output += os.read(terminal, 1000)
    while not hides() and goes_on():
        time.sleep(0.01)
    os.write(terminal, typed)
    while goes_on():
        time.sleep(0.01)
    if child.poll() is None:
        child.kill()
        child.wait()
    state = "hidden" if hides() else "shown"
    os.close(other)
    try:
        while data := os.read(terminal, 1000):
            output += data
    except OSError:
        pass
    print(child.returncode, state, output.decode())
    """

  /// Runs a command in the foreground of a terminal until it hides, takes the foreground from it, as a shell does on
  /// Ctrl-Z, ends it with SIGTERM, and prints the exit status; None when it goes on.
  private static let background = """
    import os, pty, signal, subprocess, sys, termios, time
    terminal, other = pty.openpty()
    hides = lambda: not termios.tcgetattr(other)[3] & termios.ECHO
    shell = os.fork()
    if shell:
        os.waitpid(shell, 0)
        sys.exit()
    os.setsid()
    os.close(os.open(os.ttyname(other), os.O_RDWR))
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    def enter_foreground():
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    child = subprocess.Popen(sys.argv[1:], stdin=other, stdout=other, stderr=other, preexec_fn=enter_foreground)
    end = time.monotonic() + 60
    goes_on = lambda: child.poll() is None and time.monotonic() < end
    while not hides() and goes_on():
        time.sleep(0.01)
    os.tcsetpgrp(other, os.getpgrp())
    child.terminate()
    # Reading the terminal from the background stops it, too, at any time before the signal has ended it.
    while goes_on():
        child.send_signal(signal.SIGCONT)
        time.sleep(0.01)
    print(child.poll())
    child.kill()
    """

  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func type(_ text: String, into command: String, _ arguments: [String]) throws -> CommandRun {
    try #require(Command(installed: "python3")).run(
      ["-c", Self.terminal, text, try Command(built: command).path] + arguments, in: folder.path, timeout: 120)
  }

  /// Without an option, and where the option names standard input.
  @Test(arguments: [[], ["--password-file", "-"]]) func theLedgerTakesOneLine(_ option: [String]) throws {
    let ledger = folder.file("ledger.sqlite")
    #expect(try purchaseLedger("init", "--ledger", ledger).status == 0)
    let words = ["account", "add", "anna", "--ledger", ledger] + option
    let run = try type("a long password\n", into: "purchase-ledger", words)
    #expect(run.stdout.hasPrefix("0 shown ") && run.stdout.contains("account "), "\(run)")
    #expect(!run.stdout.contains("a long password"), "\(run)")
    #expect(try purchaseLedger("account", "list", "--ledger", ledger).stdout.contains("anna"))
  }

  @Test func aSignalMakesTheTerminalShowAgainWhatIsTyped() throws {
    let ledger = folder.file("ledger.sqlite")
    #expect(try purchaseLedger("init", "--ledger", ledger).status == 0)
    let added = try type("\u{3}", into: "purchase-ledger", ["account", "add", "anna", "--ledger", ledger])
    #expect(added.stdout.hasPrefix("130 shown "), "\(added)")
    let login = try type("\u{3}", into: "mapstore", ["client", "login", "anna", "--server", "http://127.0.0.1:1"])
    #expect(login.stdout.hasPrefix("-2 shown "), "\(login)")
  }

  /// The terminal belongs to the shell again, whose settings are left alone.
  @Test func aSignalEndsAPromptInTheBackground() throws {
    let words = ["client", "login", "anna", "--server", "http://127.0.0.1:1"]
    let run = try #require(Command(installed: "python3")).run(
      ["-c", Self.background, try Command(built: "mapstore").path] + words, in: folder.path, timeout: 120)
    #expect(run.stdout == "-15\n", "\(run)")
  }
}
