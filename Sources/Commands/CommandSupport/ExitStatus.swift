package import ArgumentParser

/// What a process tells its caller. Numbers from 64 are those of sysexits.h.
///
/// One type for all commands; which of these a command ends with, and for which errors, stands in its `--help` and
/// beside its root command.
package struct ExitStatus: RawRepresentable, Hashable, Sendable {
  package let rawValue: Int32

  package init(rawValue: Int32) { self.rawValue = rawValue }

  // MARK: What the work found

  /// `verify` found faults, evidence was refused, or differences remain.
  package static let found = Self(rawValue: 1)
  /// Something that was asked for is left undone; the output says what.
  package static let leftUndone = Self(rawValue: 1)
  /// An option, the configuration file, or a file that it names cannot be used.
  package static let unusableOption = Self(rawValue: 2)
  /// The ledger cannot be opened or written.
  package static let ledger = Self(rawValue: 3)
  /// An app store's API failed for good.
  package static let appStore = Self(rawValue: 4)

  // MARK: sysexits.h

  package static let usage = Self(rawValue: 64)
  package static let badInput = Self(rawValue: 65)
  package static let unreadableInput = Self(rawValue: 66)
  package static let unavailable = Self(rawValue: 69)
  package static let internalError = Self(rawValue: 70)
  /// The output exists already, or there is no room for it.
  package static let cannotCreate = Self(rawValue: 73)
  package static let outputFailed = Self(rawValue: 74)
  /// Busy; trying again helps.
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
