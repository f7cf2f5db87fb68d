import Foundation
import TestSupport
import Testing

/// scripts/quiet-tests.sh, through which `make test` shows the runner's output.
@Suite(.ownThread) struct QuietTestsTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// A line is shown at once, not when a buffer is full.
  @Test func progressOfTheTestsIsShownWhileTheyRun() throws {
    let runner = """
      for i in 1 2 3 4 5 6 7 8 9 10; do for j in 1 2 3 4 5; do echo "✔ Test a$i$j() passed after 0.1 seconds."; done; \
      done
      until [ -e "$1" ]; do sleep 0.05; done
      echo "ssTheAntimeridian(number:) started."
      echo "✔ Test run with 50 tests in 1 suite passed after 1 seconds."
      """
    let process = try Command(path: "/bin/sh").start([
      "-c", "(\(runner)) | \"$2\"", "sh", folder.file("done"), ProjectFiles.path("scripts/quiet-tests.sh"),
    ])
    #expect(process.wait(timeout: 20) { process.stdout == "  50 tests passed\n" }, "\(process.stdout)")
    try folder.write("done", "")
    let run = process.wait(timeout: 20)
    #expect(
      run.stdoutLines == ["  50 tests passed", "✔ Test run with 50 tests in 1 suite passed after 1 seconds."], "\(run)")
  }

  /// Arguments of several lines are left out, also when another thread's output tears their last line.
  @Test func failuresAfterATornLineAreShown() throws {
    let output = [
      "◇ Test case passing 1 argument text → \"a", "b\" to wraps(text:) started.", "an issue's second line",
      "◇ Test case passing 1 argument text → \"a", "b\" to wraps(te", "✘ Test fails() failed after 0.1 seconds.",
      "✘ Test run with 2 tests in 1 suite failed after 1 seconds.",
    ]
    let path = try folder.write("output", output.joined(separator: "\n") + "\n")
    let filter = ProjectFiles.path("scripts/quiet-tests.sh")
    let run = try Command(path: "/bin/sh").start(["-c", "\"$1\" <\"$2\"", "sh", filter, path]).wait(timeout: 20)
    #expect(run.stdoutLines.map(String.init) == [output[2], output[5], output[6]], "\(run)")
  }

  /// `swift test` may end with exit code 0 without having run a test.
  @Test func runWithoutASummaryIsAFailure() throws {
    let filter = ProjectFiles.path("scripts/quiet-tests.sh")
    let run = try Command(path: "/bin/sh").start(["-c", "echo '[0/1] Planning build' | \"$1\"", "sh", filter])
      .wait(timeout: 20)
    #expect(
      run.status == 1
        && run.stdoutLines.map(String.init) == [
          "error: the test runner printed no summary, so no test ran to its end"
        ], "\(run)")
  }
}
