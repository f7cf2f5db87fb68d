/// The tool's version: another one makes bundles anew.
enum ToolVersion {
  static let text = "0.1.0"
}
