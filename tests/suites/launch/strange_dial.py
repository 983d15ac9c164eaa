"""The real parent of a rank under mpiexec, whose rank knows the strange agent's jobs."""

from suites.launch import dial
from tests.suites.launch import strange_agent

if __name__ == "__main__":
    assert strange_agent.report  # its jobs are in the table now
    dial.main()
