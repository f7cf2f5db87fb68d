import Foundation
import TestSupport
import Testing

/// Commands that ask a terminal for a password.
@Suite(.ownThread, .enabled(if: Command(installed: "python3") != nil, "python3 makes the terminal"))
struct PasswordPromptTests {
  /// Runs a command in a terminal, types when it asks and hides, and prints the exit status (negative for a signal),
  /// whether the terminal shows again what is typed, and what it showed.
  private static let terminal = """
    import os, pty, subprocess, sys, termios, time
    typed, command = sys.argv[1].encode(), sys.argv[2:]
    terminal, other = pty.openpty()
    hides = lambda: not termios.tcgetattr(other)[3] & termios.ECHO
    child = subprocess.Popen(command, stdin=other, stdout=other, stderr=other, start_new_session=True,
        preexec_fn=lambda: os.close(os.open(os.ttyname(0), os.O_RDWR)))
    output = b""
    while b"Password for anna: " not in output:
        output += os.read(terminal, 1000)
    while not hides():
        time.sleep(0.01)
    os.write(terminal, typed)
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

  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func type(_ text: String, into command: String, _ arguments: [String]) throws -> CommandRun {
    try #require(Command(installed: "python3")).run(
      ["-c", Self.terminal, text, try Command(built: command).path] + arguments, in: folder.path)
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
}
