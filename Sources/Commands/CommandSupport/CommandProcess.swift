package import ArgumentParser
import Dispatch
import Support

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Runs a command as a process: a thrown error becomes a message that begins with the command's name, and an exit code.
package struct CommandProcess<Command: ParsableCommand>: Sendable {
  private let name: String
  private let status: @Sendable (any Error) -> ExitStatus?
  private let next: @Sendable (any Error) -> String?
  private let outputFailed: ExitStatus?

  /// - Parameters:
  ///   - name: the prefix of messages; by default the command's name.
  ///   - status: the exit code for an error of ours, nil for those of the argument parser.
  ///   - next: the command that does what the remedy of such an error says; libraries know no commands.
  ///   - outputFailed: the exit code when standard output did not take everything that was printed; nil for a server,
  ///     to which that does not matter.
  package init(
    _ command: Command.Type, name: String? = nil, status: @escaping @Sendable (any Error) -> ExitStatus?,
    next: @escaping @Sendable (any Error) -> String? = { _ in nil }, outputFailed: ExitStatus?
  ) {
    self.name = name ?? command.configuration.commandName ?? "\(command)"
    self.status = status
    self.next = next
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
  /// Not an asynchronous main: its thread ends up in Dispatch's `sigsuspend`, which unblocks all signals, and they
  /// would kill the process instead of draining it.
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
    // Without destructors: threads of libraries are still running and use objects that destructors would destroy.
    _exit(0)
  }

  private func finish() {
    guard !StandardStreams.flush(), let outputFailed else { return }
    end(outputFailed, "standard output could not be written")
  }

  private func fail(_ error: any Error) -> Never {
    if let status = status(error) { end(status, "\(error)" + (next(error).map { ": \($0)" } ?? "")) }
    // Neither ours nor the argument parser's. The parser would exit with 1, the status of a command that found faults.
    if Command.exitCode(for: error) == .failure, !(error is ExitCode) {
      end(.internalError, "internal error: \(error)")
    }
    // A command that found faults has printed them. If that output was lost, the exit code reports the loss instead.
    if error is ExitCode { finish() }
    let named = Self.named
    if let line = named.unknown { end(.usage, line) }
    if let hint = hint(error, of: named.command) { printError("\(name): \(hint)") }
    // Usage errors, --help and the statuses of commands are the argument parser's own.
    Command.exit(withError: error)
  }

  /// The command that the arguments name, and what is wrong with the first word that names none, which the argument
  /// parser calls an unexpected argument.
  private static var named: (command: any ParsableCommand.Type, unknown: String?) {
    var command: any ParsableCommand.Type = Command.self
    var path = ""
    for word in CommandLine.arguments.dropFirst() where !command.configuration.subcommands.isEmpty {
      guard !word.hasPrefix("-"), word != "help" else { break }
      guard let found = command.configuration.subcommands.first(where: { $0.configuration.commandName == word }) else {
        let names = command.configuration.subcommands.compactMap { $0.configuration.commandName }
        return (command, "there is no command \(path)\(word); choose one of \(names.joined(separator: ", "))")
      }
      command = found
      path += "\(word) "
    }
    return (command, nil)
  }

  /// What the argument parser does not say: what an option of other tools is called here, and which option is not known
  /// where it says that one is missing.
  private func hint(_ error: any Error, of command: any ParsableCommand.Type) -> String? {
    let message = Command.fullMessage(for: error)
    let isMissing = message.contains("Missing expected argument")
    guard isMissing || message.contains("Unknown option") else { return nil }
    let others = (command as? any ForwardingCommand.Type)?.forwarded ?? []
    let options = ([command] + others).flatMap { optionNames(in: Command.helpMessage(for: $0)) }
    // Where an argument is missing, the parser does not look at options that are left over.
    let leftOver = isMissing ? unknownOption(among: options) : nil
    func isUnknown(_ option: String) -> Bool {
      message.contains("Unknown option '\(option)'") || option == leftOver
    }
    if let option = quietOptions.first(where: isUnknown) {
      return options.contains("--quiet")
        ? "there is no \(option); progress is left out with --quiet"
        : "there is no \(option), for no progress is shown; what is printed is left out with >/dev/null"
    }
    if let option = optionsElsewhere.first(where: { isUnknown($0.theirs) && options.contains($0.ours) }) {
      return "there is no \(option.theirs); its name here is \(option.ours)"
    }
    return leftOver.map { option in
      let near = Spelling.nearest(to: option, among: options)
      return "there is no \(option); " + (near.map { "did you mean \($0)?" } ?? "--help lists the options")
    }
  }

  /// The first option of the command line that is none of these, without its value.
  private func unknownOption(among options: [String]) -> String? {
    // Behind two dashes alone there are no options.
    CommandLine.arguments.dropFirst().prefix { $0 != "--" }.lazy.filter { $0.hasPrefix("--") }
      .map { String($0.prefix { $0 != "=" }) }.first { !options.contains($0) }
  }

  private func end(_ status: ExitStatus, _ message: String) -> Never {
    _ = StandardStreams.flush()
    // A manifest may have several errors, a line each.
    for line in message.split(separator: "\n") { printError("\(name): \(line)") }
    exit(status.rawValue)
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

/// A command that takes the options of other commands as words.
package protocol ForwardingCommand: ParsableCommand {
  static var forwarded: [any ParsableCommand.Type] { get }
}

/// The command that shows what there is where a file was not found; nil for one that is there, and for addresses.
package func listing(around path: String) -> String? {
  func exists(_ path: String) -> Bool { (try? FileSystem.status(path) != nil) == true }
  guard !path.contains("://"), !exists(path) else { return nil }
  var folder = FileSystem.split(path).folder
  while folder != ".", folder != "/", !exists(folder) {
    folder = FileSystem.split(folder).folder
  }
  return "ls \(folder.shellQuoted)"
}

/// The long options that a help text names, in its order.
private func optionNames(in help: String) -> [String] {
  help.split { !($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }
    .filter { $0.hasPrefix("--") && $0.count > 2 }.map(String.init)
}

/// What asks for silence in other tools. Errors are printed in any case.
private let quietOptions = ["--quiet", "--silent", "-q"]

/// Options of other tools, or that we had, with ours.
private let optionsElsewhere: [(theirs: String, ours: String)] = [
  ("--bbox", "--bounds"), ("--extent", "--bounds"), ("--zooms", "--zoom"), ("--min-zoom", "--zoom"),
  ("--max-zoom", "--zoom"), ("--minzoom", "--zoom"), ("--maxzoom", "--zoom"), ("--grid", "--matrix"),
  ("--srs", "--crs"), ("--s_srs", "--crs"), ("--overwrite", "--force"), ("--out", "--output"),
  ("--processes", "--threads"), ("-z", "--zoom"), ("--tilesize", "--tile-size"), ("--only", "--region"),
  ("--max-bytes", "--pack-bytes"),
]
