package import ArgumentParser
import Dispatch
import LibC
import Support

/// Runs a command as a process: a thrown error becomes a message that begins with the command's name, and an exit code.
package struct CommandProcess<Command: ParsableCommand>: Sendable {
  private let name: String
  private let status: @Sendable (any Error) -> ExitStatus?
  private let next: @Sendable (any Error) -> String?
  private let faults: @Sendable (any Error) -> [String]?
  private let outputFailed: ExitStatus?
  private let configured: [String]

  /// - Parameters:
  ///   - name: the prefix of messages; by default the command's name.
  ///   - status: the exit code for an error of ours, nil for those of the argument parser.
  ///   - next: the command that does what the remedy of such an error says; libraries know no commands.
  ///   - faults: the faults that such an error consists of, a line each. A line break in any other error is part of a
  ///     name, and escaped.
  ///   - outputFailed: the exit code when standard output did not take everything that was printed; nil for a server,
  ///     to which that does not matter.
  ///   - configured: members of the configuration file, some of which are no options.
  package init(
    _ command: Command.Type, name: String? = nil, status: @escaping @Sendable (any Error) -> ExitStatus?,
    next: @escaping @Sendable (any Error) -> String? = { _ in nil },
    faults: @escaping @Sendable (any Error) -> [String]? = { _ in nil }, outputFailed: ExitStatus?,
    configured: [String] = []
  ) {
    self.name = name ?? command.configuration.commandName ?? "\(command)"
    self.status = status
    self.next = next
    self.faults = faults
    self.outputFailed = outputFailed
    self.configured = configured
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
    end(outputFailed, ["standard output could not be written"])
  }

  private func fail(_ error: any Error) -> Never {
    if let status = status(error) {
      var lines = faults(error) ?? ["\(error)"]
      if let next = next(error), !lines.isEmpty { lines[lines.count - 1] += ": \(next)" }
      end(status, lines)
    }
    let named = Self.named
    // The argument parser would show the root's usage, and a forwarded command's without the root's name.
    if let error = error as? ValidationError { endShowingUsage(of: named.command, error.message) }
    if let error = error as? ForwardedUsageError {
      if let hint = hint(error.message, of: named.command) { printError("\(name): \(hint)") }
      endShowingUsage(of: error.command, error.message)
    }
    // Neither ours nor the argument parser's. The parser would exit with 1, the status of a command that found faults.
    if Command.exitCode(for: error) == .failure, !(error is ExitCode) {
      end(.internalError, ["internal error: \(error)"])
    }
    // A command that found faults has printed them. If that output was lost, the exit code reports the loss instead.
    if error is ExitCode { finish() }
    if let line = named.unknown { end(.usage, [line]) }
    if Command.exitCode(for: error) == .validationFailure,
      let hint = hint(Command.fullMessage(for: error), of: named.command)
    {
      printError("\(name): \(hint)")
    }
    // Usage errors, --help and the statuses of commands are the argument parser's own.
    Command.exit(withError: error)
  }

  /// Ends the process as the argument parser does after an error of usage.
  private func endShowingUsage(of command: any ParsableCommand.Type, _ message: String) -> Never {
    _ = StandardStreams.flush()
    printError("Error: \(message)")
    printError("Usage: \(Command.usageString(for: command))")
    let path = Self.path(to: command, below: Command.self) ?? name
    printError("  See '\(path) --help' for more information.")
    exit(ExitStatus.usage.rawValue)
  }

  /// `mapstore client buy`; nil where the command is not below the other.
  private static func path(
    to command: any ParsableCommand.Type, below parent: any ParsableCommand.Type
  ) -> String? {
    let name = parent.configuration.commandName ?? "\(parent)"
    if command == parent { return name }
    return parent.configuration.subcommands.lazy.compactMap { path(to: command, below: $0) }.first
      .map { "\(name) \($0)" }
  }

  /// The command that the arguments name, and what is wrong with the first word that names none, which the argument
  /// parser calls an unexpected argument, and after `help` takes for nothing.
  private static var named: (command: any ParsableCommand.Type, unknown: String?) {
    var command: any ParsableCommand.Type = Command.self
    var path = ""
    var words = CommandLine.words[...]
    if !command.configuration.subcommands.isEmpty, words.first == "help" { words = words.dropFirst() }
    for word in words where !command.configuration.subcommands.isEmpty {
      guard !word.hasPrefix("-"), word != "help" else { break }
      guard let found = command.configuration.subcommands.first(where: { $0.configuration.commandName == word }) else {
        let names = command.configuration.subcommands.compactMap { $0.configuration.commandName }
        let near = Spelling.nearest(to: word, among: names).map { "did you mean \(path)\($0)?" }
        let remedy = near ?? "choose one of \(names.joined(separator: ", "))"
        return (command, "there is no command \(path)\(word); \(remedy)")
      }
      command = found
      path += "\(word) "
    }
    return (command, nil)
  }

  /// What the argument parser does not say: what an option of other tools is called here, and which option is not known
  /// where it says something else, or knows no similar one.
  ///
  /// - Parameter message: what the argument parser says.
  private func hint(_ message: String, of command: any ParsableCommand.Type) -> String? {
    let others = (command as? any ForwardingCommand.Type)?.forwarded ?? []
    let options = ([command] + others).flatMap { optionNames(in: Command.helpMessage(for: $0)) }
    // Checks of the command, and of whether something is missing, come before the parser looks at what is left over.
    let leftOver = unknownOption(among: options)
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
    // Those that are given more than once are a list there: hmacKeyFiles.
    let member = configured.first { member in
      leftOver.map { [$0, $0 + "s"].contains("--\(Spelling.option(member))") } ?? false
    }
    if let leftOver, let member {
      return "there is no \(leftOver); write \"\(member)\" into the configuration file (--config)"
    }
    guard let leftOver, !message.contains("Did you mean") else { return nil }
    if let near = Spelling.nearest(to: leftOver, among: options) {
      return "there is no \(leftOver); did you mean \(near)?"
    }
    return message.contains(leftOver) ? nil : "there is no \(leftOver); --help lists the options"
  }

  /// The first option of the command line that is none of these, without its value.
  private func unknownOption(among options: [String]) -> String? {
    // Behind two dashes alone there are no options.
    CommandLine.words.prefix { $0 != "--" }.lazy.filter { $0.hasPrefix("--") }
      .map { String($0.prefix { $0 != "=" }) }.first { !options.contains($0) }
  }

  private func end(_ status: ExitStatus, _ lines: [String]) -> Never {
    _ = StandardStreams.flush()
    for line in lines { printError("\(name): \(line)") }
    exit(status.rawValue)
  }
}

extension CommandProcess where Command: AsyncParsableCommand {
  /// Runs the subcommand that the arguments name, and ends the process.
  package func runAsRoot() -> Never {
    runAsynchronously {
      var command = try Command.parseAsRoot(CommandLine.words)
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

extension ForwardingCommand {
  /// Does what parses the words as those of another command, whose usage is shown where they are wrong.
  package static func forwarding<Value>(to command: any ParsableCommand.Type, _ work: () throws -> Value) throws
    -> Value
  {
    do {
      return try work()
    } catch  where command.exitCode(for: error) == .validationFailure {
      throw ForwardedUsageError(command: command, message: command.message(for: error))
    }
  }
}

/// What is wrong with the words for another command.
private struct ForwardedUsageError: Error {
  let command: any ParsableCommand.Type
  let message: String
}

/// The command that shows what there is where a file was not found; nil for one that is there, and for addresses.
package func listing(around path: String) -> String? {
  func exists(_ path: String) -> Bool { FileSystem.kind(path) != nil }
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
