import ArgumentParser
import CommandSupport
import LibC
import Support
import TileCut

/// `tilecut doctor`
struct DoctorCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Prints what tilecut finds on this machine: libraries, PROJ's data, cores, memory, disk, terminal.",
    discussion: """
      Each problem names the next command to type. Exits with 1 when something does not work. Put the output into \
      reports of defects.
      """)

  @Flag(help: "Print JSON.")
  var json = false

  /// The report with what only a command knows.
  private struct Document: Encodable {
    let version: String
    let system: SystemReport
    let terminal: Terminal
  }

  private struct Terminal: Encodable {
    let isOutput: Bool
    let isErrorOutput: Bool
    let columns: Int?
    let type: String?
    let locale: String?
  }

  func run() throws {
    let report = SystemReport()
    if json {
      printText(
        try prettyJSON(Document(version: ToolVersion.text, system: report, terminal: Self.terminal)))
    } else {
      Self.lines(report).forEach(printLine)
    }
    if !report.problems.isEmpty { throw ExitCode(.found) }
  }

  private static var terminal: Terminal {
    var size = winsize()
    let hasSize = ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
    return Terminal(
      isOutput: isatty(STDOUT_FILENO) == 1, isErrorOutput: isatty(STDERR_FILENO) == 1,
      columns: hasSize ? Int(size.ws_col) : nil, type: FileSystem.environment("TERM"),
      locale: FileSystem.environment("LC_ALL") ?? FileSystem.environment("LC_CTYPE") ?? FileSystem.environment("LANG"))
  }

  private static func lines(_ report: SystemReport) -> [String] {
    var lines = ["tilecut       \(ToolVersion.text)"]
    func add(_ title: String, _ text: String) {
      lines.append(title + String(repeating: " ", count: max(14 - title.count, 1)) + text)
    }
    for library in report.libraries {
      let use = library.use.map { "; only \($0.option) needs it: apt-get install \($0.package)" } ?? ""
      add(library.name, library.version ?? "missing\(use)")
    }
    if let proj = report.proj {
      add("PROJ's data", proj.database ?? "none")
      let grids = proj.gridCount == 0 ? "none (apt-get install proj-data has some)" : "\(proj.gridCount)"
      add("grids", "\(grids), looked for in \(proj.folders.joined(separator: ", "))")
    }
    add("certificates", report.certificates ?? "none")
    add("cores", "\(report.processorCount)")
    add(
      "memory", "\(formatted(bytes: report.memoryBytes)), of which \(formatted(bytes: report.freeMemoryBytes)) unused")
    for disk in report.disks {
      let access = disk.isWritable ? "" : ", cannot be written"
      add("disk", "\(formatted(bytes: disk.freeBytes)) free in \(disk.folder)\(access)")
    }
    let terminal = terminal
    let size = terminal.columns.map { ", \($0) columns" } ?? ""
    add(
      "terminal",
      (terminal.isErrorOutput
        ? "\(terminal.type ?? "of unknown type")\(size)" : "none: progress is shown with --progress plain")
        + (terminal.locale.map { ", \($0)" } ?? ""))
    for problem in report.problems { lines.append("problem: \(problem.message); \(problem.remedy)") }
    lines.append(report.problems.isEmpty ? "everything works" : "\(counted(report.problems.count, "problem"))")
    return lines
  }
}
