package import ArgumentParser
import Dispatch
import Foundation

/// A command as a process: what it throws becomes a message that begins with its name, and an exit code.
package struct CommandProcess<Command: ParsableCommand>: Sendable {
  private let name: String
  private let status: @Sendable (any Error) -> Int32?
  private let outputFailed: Int32?

  /// - Parameters:
  ///   - name: what messages begin with; the command's own unless given.
  ///   - status: the exit code for an error of ours, nil for those of the argument parser.
  ///   - outputFailed: the exit code when standard output did not take all that was printed; nil when that does not matter, as to a server.
  package init(
    _ command: Command.Type, name: String? = nil, status: @escaping @Sendable (any Error) -> Int32?,
    outputFailed: Int32?
  ) {
    self.name = name ?? command.configuration.commandName ?? "\(command)"
    self.status = status
    self.outputFailed = outputFailed
  }

  /// Returns when the work is done and its output written; ends the process otherwise.
  package func run(_ work: () throws -> Void) {
    do {
      try work()
    } catch {
      fail(error)
    }
    finish()
  }

  /// Does the work on another thread, waits for it, and ends the process.
  ///
  /// Not an asynchronous main, whose thread ends up in Dispatch's `sigsuspend` with all signals let through: they would kill instead of drain.
  package func runAsynchronously(_ work: @escaping @Sendable () async throws -> Void) -> Never {
    let end = DispatchSemaphore(value: 0)
    Task.detached {
      do {
        try await work()
      } catch {
        fail(error)
      }
      end.signal()
    }
    end.wait()
    finish()
    // Threads of libraries are still at work: nothing that they use is taken down.
    _exit(0)
  }

  private func finish() {
    guard !StandardStreams.flush(), let outputFailed else { return }
    end(outputFailed, "standard output could not be written")
  }

  private func fail(_ error: any Error) -> Never {
    if let status = status(error) { end(status, "\(error)") }
    // Neither ours nor the argument parser's, which would end with 1, as commands do that found something.
    if Command.exitCode(for: error) == .failure, !(error is ExitCode) { end(70, "internal error: \(error)") }
    // What was found stands in the output: that it was lost is worse.
    if error is ExitCode { finish() }
    // Usage errors, --help and the statuses of commands are the argument parser's own.
    Command.exit(withError: error)
  }

  private func end(_ status: Int32, _ message: String) -> Never {
    _ = StandardStreams.flush()
    // A manifest may have several faults, a line each.
    for line in message.split(separator: "\n") { printError("\(name): \(line)") }
    Foundation.exit(status)
  }
}

extension CommandProcess where Command: AsyncParsableCommand {
  /// Runs the subcommand that the arguments name, and ends the process.
  package func runAsRoot() -> Never {
    runAsynchronously {
      var command = try Command.parseAsRoot()
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
    }
  }
}
