package import ArgumentParser

/// The exit status of a process. Numbers from 64 are those of sysexits.h.
///
/// One type for all commands. Each command's `--help` and root command list the statuses that it uses, and for which
/// errors.
package struct ExitStatus: RawRepresentable, Hashable, Sendable {
  package let rawValue: Int32

  package init(rawValue: Int32) { self.rawValue = rawValue }

  // MARK: Results

  /// `verify` found faults, evidence was refused, or differences remain.
  package static let found = Self(rawValue: 1)
  /// Part of the requested work was not done; the output says which.
  package static let leftUndone = Self(rawValue: 1)
  /// An option, the configuration file, or a file that it names cannot be used.
  package static let unusableOption = Self(rawValue: 2)
  /// The ledger cannot be opened or written.
  package static let ledger = Self(rawValue: 3)
  /// An app store's API failed permanently.
  package static let appStore = Self(rawValue: 4)

  // MARK: sysexits.h

  package static let usage = Self(rawValue: 64)
  package static let badInput = Self(rawValue: 65)
  package static let unreadableInput = Self(rawValue: 66)
  package static let unavailable = Self(rawValue: 69)
  package static let internalError = Self(rawValue: 70)
  /// The system lacks memory, or data that a library needs.
  package static let systemError = Self(rawValue: 71)
  /// The output already exists, or the disk is full.
  package static let cannotCreate = Self(rawValue: 73)
  package static let outputFailed = Self(rawValue: 74)
  /// Busy; a later attempt may succeed.
  package static let busy = Self(rawValue: 75)
  /// The server refused.
  package static let refused = Self(rawValue: 76)
  /// Not signed in, or not owned.
  package static let notPermitted = Self(rawValue: 77)
  package static let configurationFile = Self(rawValue: 78)

  /// Ended by a signal, as a shell reports it.
  package static func signal(_ number: Int32) -> Self { Self(rawValue: 128 + number) }
}

extension ExitCode {
  /// Ends the command with a status, without a message.
  package init(_ status: ExitStatus) { self.init(status.rawValue) }
}
